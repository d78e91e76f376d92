"""What changed between a night and the last comparable ones, each change with whose it is and
the command that reproduces it.

Every case is compared with the last earlier night that has it, so that a night over a few cases
hides nothing from the next.
"""

from __future__ import annotations

import re
import shlex
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from harness.night import UNEXPECTED, CaseFacts, Night, StageFacts
from harness.record import Record

# A case compiles slower if it takes SLOWER times, and SECONDS more than, the median of its last
# times, and is outside their spread; and a GPU's ratio is worse if the two 99 % intervals lie
# GPU_MARGIN apart.
SLOWER = 1.5
SECONDS = 0.5
SPREADS = 4.0
GPU_MARGIN = 1.05
ENOUGH = 8  # compilations timed anew, from which on a common factor is the machine's
_PLACE = re.compile(r'(?<![\w./-])[\w./-]+\.py"?:\d+:\d+')
_MAD = 1.4826  # of a normal distribution, the median absolute deviation is 1/1.4826 sigma


class Change(Record, frozen=True):
    """One thing that changed. ``kind`` is one of ``KINDS``.

    ``case`` is a case id or a TLX name; ``stages`` are in pipeline order; ``before`` and
    ``after`` say what was and is, in words; ``born`` is where the difference that came or went
    is born. ``attribution`` is the explanation's, ``moved`` the
    sides whose own result there is another than before, ``because`` what else changed since
    ``since``, the start of the earlier night. ``command`` shows it again; ``bisect`` finds
    the version that brought it, where a toolchain changed.
    """

    kind: str
    case: str
    after: str
    stages: tuple[str, ...] = ()
    before: str = ""
    born: str = ""
    attribution: str = ""
    moved: tuple[str, ...] = ()
    because: tuple[str, ...] = ()
    unexpected: bool = False
    since: str = ""
    command: str = ""
    bisect: tuple[str, ...] = ()


class ToolchainChange(Record, frozen=True):
    """A side that is another toolchain than before, in words."""

    role: str
    before: str
    after: str


class Changes(Record, frozen=True):
    """All that changed in one night, the worst kind first.

    ``since`` is the start of the latest earlier night, empty where there is none.
    ``compared`` counts the cases that an earlier night has too, ``new_cases`` the others;
    ``pending`` are the cases that were unexpected before and still are. ``void`` says why
    the night measured nothing; ``machine`` is the common factor of all compile times.
    """

    channel: str
    night: str
    started: str
    exit_status: int
    since: str = ""
    toolchains: tuple[ToolchainChange, ...] = ()
    changes: tuple[Change, ...] = ()
    compared: int = 0
    new_cases: int = 0
    pending: tuple[str, ...] = ()
    void: str = ""
    machine: float = 1.0

    @property
    def alarming(self) -> bool:
        """Whether anything changed for the worse unexpectedly."""
        return any(change.unexpected for change in self.changes)


KINDS = (
    "newly failing",
    "new divergence",
    "changed",
    "new case differs",
    "slower on the GPU",
    "slower to compile",
    "vanished name",
    "new name",
    "newly compiling",
    "fixed",
)


def changes(night: Night, earlier: Sequence[Night]) -> Changes:
    """What changed in ``night`` against ``earlier``, comparable nights, the latest last."""
    measured = [other for other in earlier if not other.void]
    last = measured[-1] if measured else None
    before = {facts.case: (other, facts) for other in measured for facts in other.cases}
    pairs = [(facts, *before[facts.case]) for facts in night.cases if facts.case in before]
    machine = _machine(pairs)
    found = [change for pair in pairs for change in _of_case(night, *pair)]
    found += _slower_to_compile(night, measured, machine)
    if last is not None and not night.void:
        found += _names(night, last)
        found += [
            _change("new case differs", night, None, facts, _bad(facts), unexpected=True)
            for facts in night.cases
            if facts.case not in before and facts.unexpected
        ]
    told = {change.case for change in found if change.unexpected}
    return Changes(
        channel=night.channel,
        night=night.id,
        started=night.started,
        exit_status=night.exit_status,
        since=last.started if last is not None else "",
        toolchains=tuple(_toolchains(night, last)) if last is not None else (),
        changes=tuple(sorted(found, key=lambda c: (not c.unexpected, KINDS.index(c.kind)))),
        compared=len(pairs),
        new_cases=len(night.cases) - len(pairs),
        pending=tuple(f.case for f in night.cases if f.unexpected and f.case not in told),
        void=night.void,
        machine=round(machine, 3),
    )


def _of_case(night: Night, facts: CaseFacts, other: Night, old: CaseFacts) -> Iterator[Change]:
    failing, failed = (
        [role for role, side in each.sides.items() if side.outcome != "OK"] for each in (facts, old)
    )
    newly = [role for role in failing if role not in failed]
    again = [role for role in failed if role not in failing]
    judged = facts.outcome_status in UNEXPECTED
    if newly or again:
        kind = "newly failing" if newly else "newly compiling"
        yield _change(kind, night, other, facts, ("outcome",), old, judged)
    grouped: dict[str, list[str]] = defaultdict(list)
    unexpected: set[str] = set()
    if not newly and not again and facts.outcome_fingerprint != old.outcome_fingerprint:
        kind = "new divergence" if old.outcome == "OK" else "changed"
        kind = "fixed" if facts.outcome == "OK" else kind
        grouped[kind].append("outcome")
        unexpected |= {kind} if judged else set()
    for stage in facts.stages:
        # Speed is a matter of intervals, see below; and of a side that fails no file is checked.
        if stage.stage == "speed" or (stage.stage == "check" and newly):
            continue
        kind = _turn(stage, None if stage.stage == "check" and again else old.stage(stage.stage))
        if kind:
            grouped[kind].append(stage.stage)
            unexpected |= {kind} if stage.status in UNEXPECTED else set()
    for kind, stages in grouped.items():
        yield _change(kind, night, other, facts, tuple(stages), old, kind in unexpected)
    yield from _slower_on_gpu(night, other, facts, old)


def _turn(now: StageFacts, then: StageFacts | None) -> str:
    """The kind of change of one stage, or nothing."""
    if not now.measured:
        return ""
    if then is None or not then.measured:
        return "new divergence" if now.status in UNEXPECTED else ""
    if now.equal:
        return "" if then.equal else "fixed"
    if then.equal:
        return "new divergence"
    return "changed" if (now.verdict, now.fingerprint) != (then.verdict, then.fingerprint) else ""


def _change(
    kind: str,
    night: Night,
    other: Night | None,
    facts: CaseFacts,
    stages: tuple[str, ...],
    old: CaseFacts | None = None,
    unexpected: bool = False,
    before: str = "",
    after: str = "",
) -> Change:
    moved = _moved(facts, old, stages) if old is not None else ()
    because = _because(night, other, facts, old) if other is not None and old is not None else ()
    changed = [t.role for t in _toolchains(night, other)] if other is not None else []
    bisectable = kind in ("newly failing", "new divergence", "changed")
    # What is gone is explained by the night that still had it.
    ended = kind in ("fixed", "newly compiling") and old is not None
    source, against = (old, facts) if ended and old is not None else (facts, old)
    fresh = [a for a in source.attributions if against is None or a not in against.attributions]
    return Change(
        kind=kind,
        case=facts.case,
        stages=stages,
        born=_born(source, against),
        before=before
        or (_words(old, stages, facts, later=kind == "changed") if old is not None else ""),
        after=after or _words(facts, stages, old),
        attribution=", ".join(fresh or source.attributions[:1]),
        moved=moved,
        because=because,
        unexpected=unexpected,
        since=other.started if other is not None else "",
        command=night.command(facts.case),
        bisect=tuple(
            shlex.join(["tlx-equiv", "bisect", facts.case, "--over", role])
            for role in changed
            if bisectable and (role in moved or not moved)
        ),
    )


def _words(
    facts: CaseFacts, stages: Sequence[str], other: CaseFacts | None, later: bool = False
) -> str:
    """What a case is at ``stages``: each verdict once, where need be the first fingerprint, and
    where the difference is born, unless the ``other`` night is ``later`` and will say so."""
    found = [stage for name in stages if (stage := facts.stage(name))]
    verdicts = [_outcome(facts)] if "outcome" in stages else []
    verdicts += [stage.verdict for stage in found]
    text = ", ".join(dict.fromkeys(verdicts))
    differs = next((stage for stage in found if stage.measured and not stage.equal), None)
    if differs is None:
        return text
    then = other.stage(differs.stage) if other is not None else None
    if then is not None and then.verdict == differs.verdict:
        text += f" ({differs.stage} {differs.fingerprint[:8]})"
    born = _born(facts, other)
    told = other is not None and later and born == _born(other, facts)
    return f"{text}; {born}" if born and not told else text


def _born(facts: CaseFacts, other: CaseFacts | None) -> str:
    """Where the difference of a case is born: the first place that the ``other`` night does not
    have, else the first."""
    fresh = [b for b in facts.births if other is None or b not in other.births]
    return next(iter((*fresh, *facts.births)), "")


def _outcome(facts: CaseFacts) -> str:
    """How a case's compilations ended, with the words of those that failed."""
    said = dict.fromkeys(side.said for side in facts.sides.values() if side.said)
    return f"{facts.outcome}: {'; '.join(said)}" if said else facts.outcome


def _moved(facts: CaseFacts, old: CaseFacts, stages: Sequence[str]) -> tuple[str, ...]:
    """The sides whose outcome, or own artifact at any of the stages, is another than before."""
    names = ["cubin" if stage == "sass" else stage for stage in stages]

    def same(role: str) -> bool:
        now, then = facts.sides[role], old.sides.get(role)
        return (
            then is not None
            and now.outcome == then.outcome
            and all(now.hashes.get(name) == then.hashes.get(name) for name in names)
        )

    return tuple(role for role in facts.sides if not same(role))


def _because(night: Night, other: Night, facts: CaseFacts, old: CaseFacts) -> tuple[str, ...]:
    found = [f"{t.role}: {t.before} -> {t.after}" for t in _toolchains(night, other)]
    if facts.definition != old.definition:
        found.append("the kernel or its case was edited")
    if not found and night.harness != other.harness:
        found.append(f"tlx-equiv {other.harness} -> {night.harness}")
    return tuple(found) or ("same toolchains and kernel: a rule, the ledger or the machine",)


def _toolchains(night: Night, other: Night) -> Iterator[ToolchainChange]:
    for role, now in night.toolchains.items():
        then = other.toolchains.get(role)
        if then is None or then.fingerprint == now.fingerprint:
            continue
        words = [
            ", ".join(d for d in a.distributions if d not in b.distributions)
            for a, b in ((then, now), (now, then))
        ]
        if not any(words):
            words = [f"{', '.join(t.distributions)} [{t.fingerprint[:10]}]" for t in (then, now)]
        yield ToolchainChange(role, *(text.replace("==", " ") or "nothing" for text in words))


def _bad(facts: CaseFacts) -> tuple[str, ...]:
    stages = [s.stage for s in facts.stages if s.status in UNEXPECTED]
    return ("outcome", *stages) if facts.outcome_status in UNEXPECTED else tuple(stages)


def _names(night: Night, last: Night) -> Iterator[Change]:
    for name in sorted({*night.names, *last.names}):
        now, then = night.names.get(name, ()), last.names.get(name, ())
        for role in (night.reference, night.candidate):
            if (role in now) != (role in then):
                yield Change(
                    kind="new name" if role in now else "vanished name",
                    case=name,
                    before=f"on {', '.join(then) or 'no side'}",
                    after=f"on {', '.join(now) or 'no side'}",
                    moved=(role,),
                    because=tuple(
                        f"{t.role}: {t.before} -> {t.after}" for t in _toolchains(night, last)
                    ),
                    since=last.started,
                    command="tlx-equiv coverage",
                )


# --- time -----------------------------------------------------------------------------------


def _machine(pairs: Sequence[tuple[CaseFacts, Night, CaseFacts]]) -> float:
    """The common factor of the compile times that were measured anew; 1 if they are too few."""
    ratios = [
        side.seconds / then.seconds
        for facts, _, old in pairs
        for role, side in facts.sides.items()
        if (then := old.sides.get(role)) is not None
        and _timed_anew(side.seconds, then.seconds)
        and side.outcome == then.outcome == "OK"
    ]
    return max(1.0, statistics.median(ratios)) if len(ratios) >= ENOUGH else 1.0


def _timed_anew(now: float, then: float) -> bool:
    """Whether this is another measurement: what is not compiled again keeps its time."""
    return then > 0 and now != then


def _slower_to_compile(night: Night, earlier: Sequence[Night], machine: float) -> Iterator[Change]:
    times: dict[tuple[str, str], dict[float, None]] = defaultdict(dict)
    latest: dict[str, tuple[Night, CaseFacts]] = {}
    for other in earlier:
        for facts in other.cases:
            latest[facts.case] = (other, facts)
            for role, side in facts.sides.items():
                if side.outcome == "OK":
                    times[facts.case, role][side.seconds] = None
    for facts in night.cases:
        for role, side in facts.sides.items():
            known = list(times.get((facts.case, role), ()))
            if side.outcome != "OK" or not known or side.seconds in known:
                continue
            usual = statistics.median(known)
            spread = _MAD * statistics.median(abs(t - usual) for t in known)
            least = usual * machine + max(SECONDS, SPREADS * spread)
            if side.seconds > max(least, SLOWER * machine * usual):
                other, old = latest[facts.case]
                yield _change(
                    "slower to compile",
                    night,
                    other,
                    facts,
                    (),
                    old,
                    before=f"{role}: {usual:.2f} s (median of {len(known)})",
                    after=f"{role}: {side.seconds:.2f} s",
                )


def _slower_on_gpu(
    night: Night, other: Night, facts: CaseFacts, old: CaseFacts
) -> Iterator[Change]:
    now, then = facts.speed, old.speed
    if now is None or then is None or not (now.compared and then.compared):
        return
    if night.device.partition(",")[0] != other.device.partition(",")[0]:
        return
    judged, earlier = facts.stage("speed"), old.stage("speed")
    unexpected = judged is not None and judged.status in UNEXPECTED
    newly = unexpected and earlier is not None and earlier.equal
    if newly or now.low > then.high * GPU_MARGIN:
        yield _change(
            "slower on the GPU",
            night,
            other,
            facts,
            ("speed",),
            old,
            unexpected,
            before=f"{then.ratio:.3f} times the {night.reference}'s time",
            after=f"{now.ratio:.3f} times the {night.reference}'s time",
        )


class Alike(Record, frozen=True):
    """Changes of one kind and cause: the first one, and the cases of all."""

    change: Change
    cases: tuple[str, ...]


def alike(found: Sequence[Change]) -> tuple[Alike, ...]:
    """``found``, what happened alike to several cases told once, in the same order."""
    groups: dict[tuple[object, ...], list[Change]] = defaultdict(list)
    for change in found:
        key = (change.kind, _cause(change), change.attribution, change.moved, change.unexpected)
        groups[key].append(change)
    return tuple(Alike(group[0], tuple(c.case for c in group)) for group in groups.values())


def _cause(change: Change) -> tuple[str, ...]:
    """What makes two changes of one kind alike: the compiler's words of a failure, wherever in a
    source file; the first stage and the pass of a difference; the side that is slower."""
    if "outcome" in change.stages:
        return (_PLACE.sub("", change.before + change.after),)
    if change.kind.startswith("slower"):
        return (change.after.partition(":")[0],)
    return (*change.stages[:1], change.born.partition(":")[0])


def headline(found: Changes) -> str:
    """One line: since when how many changes there are of each kind, or that there are none."""
    if found.void:
        return f"void, nothing was measured: {found.void}"
    if not found.since:
        return "the first night, nothing to compare with"
    counts = Counter(change.kind for change in found.changes)
    words = [
        f"{counts[kind]} {kind}"
        + ("s" if counts[kind] > 1 and kind.endswith(("divergence", "name")) else "")
        for kind in KINDS
        if counts[kind]
    ]
    text = ", ".join(words) or f"nothing changed in {found.compared} cases"
    return f"{text} since {found.since}"
