"""What changed between a night and the last comparable ones, each change with whose it is and
the command that reproduces it.

Every case is compared with the last earlier night that has it, so that a night over a few cases
hides nothing from the next.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from harness.change import KINDS, Change, Changes, ToolchainChange
from harness.night import UNEXPECTED, CaseFacts, Night, StageFacts
from harness.slowness import machine_factor, slower_on_gpu, slower_to_compile


def changes(night: Night, earlier: Sequence[Night]) -> Changes:
    """What changed in ``night`` against ``earlier``, comparable nights, the latest last."""
    measured = [other for other in earlier if not other.void]
    last = measured[-1] if measured else None
    before = {facts.case: (other, facts) for other in measured for facts in other.cases}
    pairs = [(facts, *before[facts.case]) for facts in night.cases if facts.case in before]
    machine = machine_factor((facts, old) for facts, _, old in pairs)
    found = [change for pair in pairs for change in _of_case(night, *pair)]
    found += [
        _change("slower to compile", night, other, facts, (), old, before=usual, after=now)
        for facts, usual, now in slower_to_compile(night, measured, machine)
        for other, old in [before[facts.case]]
    ]
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
    if slower_on_gpu(night, other, facts, old):
        speed = facts.stage("speed")
        unexpected_speed = speed is not None and speed.status in UNEXPECTED
        words = [f"{f.speed.ratio:.3f} times as long" for f in (old, facts) if f.speed]
        yield _change(
            "slower on the GPU", night, other, facts, ("speed",), old, unexpected_speed, *words
        )


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
            night.bisection(facts.case, role)
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
