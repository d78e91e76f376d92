"""What cases have in common, counted: headline figures, stages, causes, ledger, failures."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from harness.explanation import Explanation
from harness.model import Compilation
from harness.result import Run, Status
from reports.cases import CaseView
from reports.gpu import GpuView
from reports.ladder import BINARIES, STAGES


@dataclasses.dataclass(frozen=True, slots=True)
class Figure:
    """A headline figure: so many of so many, or a ``value``, and what more there is to say."""

    label: str
    part: int
    whole: int
    note: str = ""
    value: str = ""

    @property
    def words(self) -> str:
        """The figure itself as text."""
        return self.value or f"{self.part:,} of {self.whole:,}"


@dataclasses.dataclass(frozen=True, slots=True)
class Group:
    """Cases that share something: a cause, a ledger entry, a way to fail."""

    name: str
    detail: str
    cases: tuple[CaseView, ...]
    words: str = ""


def figures_of(run: Run, cases: Sequence[CaseView], gpu: GpuView) -> tuple[Figure, ...]:
    """The headline figures; one that the run did not measure is left out."""
    binaries = [r for case in cases for r in case.rungs if r.stage in BINARIES]
    both = [rung for rung in binaries if rung.state != "absent"]
    by_rules = sum(rung.state == "equivalent" for rung in both)
    figures = [
        Figure(
            "binaries identical",
            sum(rung.state == "identical" for rung in both),
            len(both),
            f"{by_rules} more equal after rules" if by_rules else "of cases both sides compile",
        )
    ]
    explained = [c.result.explanation for c in cases if c.result.explanation is not None]
    crossed = Counter(explanation.same_back_end for explanation in explained)
    if crossed["yes"] or crossed["no"]:
        figures.append(
            Figure(
                f"{run.reference}'s back end on {run.candidate}'s TTGIR"
                f" gives {run.reference}'s own assembly",
                crossed["yes"],
                crossed["yes"] + crossed["no"],
                f"{crossed['unknown']} unknown" if crossed["unknown"] else "of cases crossed",
            )
        )
    same, shared, ungrafted = pass_behaviour(explained)
    if same or ungrafted < shared:
        note = f"{ungrafted} idle or not grafted" if ungrafted else "on every input of the run"
        figures.append(Figure("passes behave identically", same, shared, note))
    attributed = [case.attribution for case in cases if case.attribution]
    if attributed:
        unresolved = attributed.count("unresolved")
        figures.append(
            Figure("attributions unresolved", unresolved, len(attributed), "of cases that differ")
        )
    names = [entry for entry in run.coverage if len(entry.signatures) > 1]
    if names:
        exercised = sum(bool(entry.targets) for entry in names)
        figures.append(
            Figure("TLX names exercised", exercised, len(names), "of those both sides have")
        )
    if gpu.cases:
        unequal = Counter(c.result.parity.state for c in gpu.unequal if c.result.parity)
        words = ", ".join(f"{count} {state.lower()}" for state, count in unequal.most_common())
        figures.append(Figure("bits equal on the GPU", gpu.equal, len(gpu.cases), words))
    if gpu.chart:
        worst = gpu.timed[0].result.parity
        assert worst is not None and worst.speed is not None  # of timed cases both are there
        figures.append(
            Figure(
                f"median time of {run.candidate} over {run.reference}",
                len(gpu.slower),
                len(gpu.timed),
                f"worst {worst.speed.ratio:.2f}×; {len(gpu.slower)} of {len(gpu.timed)}"
                " slower beyond noise",
                f"{gpu.median:.3f}×",
            )
        )
    return tuple(figures)


def pass_behaviour(explained: Iterable[Explanation]) -> tuple[int, int, int]:
    """Of the passes that both sides run: how many never differ, how many there are, and how
    many no graft ever reached."""
    seen: dict[tuple[str, str], set[str]] = defaultdict(set)
    for explanation in explained:
        for row in explanation.rows:
            if row.left is not None and row.right is not None:
                seen[row.manager, row.name].add(row.behaviour)
    same = sum("same" in found and "differs" not in found for found in seen.values())
    reached = sum(bool(found & {"same", "differs"}) for found in seen.values())
    return same, len(seen), len(seen) - reached


def stages_of(cases: Sequence[CaseView]) -> tuple[tuple[str, Counter[str]], ...]:
    """For each stage, in pipeline order, how many cases have each state."""
    counts: dict[str, Counter[str]] = {}
    for case in cases:
        for rung in case.rungs:
            counts.setdefault(rung.stage, Counter())[rung.state] += 1
    order = [*STAGES, *(stage for stage in counts if stage not in STAGES)]
    return tuple((stage, counts[stage]) for stage in order if stage in counts)


def causes_found(cases: Sequence[CaseView]) -> tuple[Group, ...]:
    """Passes where differences are born, with their kinds and the cases that each explains."""
    grouped: dict[str, list[CaseView]] = defaultdict(list)
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for case in cases:
        if case.result.outcome.startswith("OK") and case.result.explanation is not None:
            for cause in {cause.place: cause for cause in case.causes}.values():
                grouped[cause.place].append(case)
                kinds[cause.place].update(set(cause.kinds))
    return _groups((place, _tally(kinds[place]), hits, "") for place, hits in grouped.items())


def _tally(counts: Counter[str], most: int = 6) -> str:
    words = [f"{name} ({count})" for name, count in counts.most_common(most)]
    more = len(counts) - most
    return "; ".join(words) + (f"; {more} more kinds" if more > 0 else "")


def ledger_met(cases: Sequence[CaseView]) -> tuple[Group, ...]:
    """Ledger entries that accepted something, with the stages and cases where."""
    grouped: dict[tuple[str, str], list[CaseView]] = defaultdict(list)
    stages: dict[tuple[str, str], list[str]] = defaultdict(list)
    for case in cases:
        for judgement in case.result.judgements:
            if judgement.expectation and judgement.status is Status.EXPECTED:
                key = (judgement.expectation, judgement.reason)
                stages[key].append(judgement.stage)
                hits = grouped[key]
                if not hits or hits[-1] is not case:
                    hits.append(case)
    return _groups(
        (entry, ", ".join(dict.fromkeys(stages[entry, reason])), hits, reason)
        for (entry, reason), hits in grouped.items()
    )


def failures_of(cases: Sequence[CaseView]) -> tuple[Group, ...]:
    """Failures that are alike, each with the words of the first."""
    grouped: dict[tuple[str, str, str], list[CaseView]] = defaultdict(list)
    words: dict[tuple[str, str, str], str] = {}
    for case in cases:
        for role, compilation in case.result.compilations.items():
            text = said(compilation)
            if text:
                failure = compilation.failure
                where = f"{failure.phase} {failure.pass_name}".strip() if failure else "printed"
                plain = re.sub(r"[\d%#@].*|/\S+|\"[^\"]*\"", "", text.splitlines()[0])
                key = (f"{compilation.outcome.value}({role})", where, plain[:80])
                words.setdefault(key, text)
                grouped[key].append(case)
    return _groups(
        (kind, place, hits, words[kind, place, plain])
        for (kind, place, plain), hits in grouped.items()
    )


def said(compilation: Compilation) -> str:
    """The compiler's own words on a failure, or on a success that printed errors."""
    if compilation.failure is None:
        return compilation.printed_errors.strip()
    failure = compilation.failure
    return failure.message.strip() or failure.stderr_tail.strip() or failure.signal or "no message"


def _groups(found: Iterable[tuple[str, str, list[CaseView], str]]) -> tuple[Group, ...]:
    groups = [Group(name, detail, tuple(cases), words) for name, detail, cases, words in found]
    return tuple(sorted(groups, key=lambda group: -len(group.cases)))
