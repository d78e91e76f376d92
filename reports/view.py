"""What the pages show, worked out from a run: plain values, no markup."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from harness.explanation import AlignedPass, Explanation
from harness.model import (
    CaseResult,
    Comparison,
    Compilation,
    Judgement,
    Outcome,
    Run,
    Status,
    ToolchainIdentity,
    Verdict,
)

GOOD = (Verdict.IDENTICAL, Verdict.EQUIVALENT)
ALARMS = (Status.NEW, Status.CHANGED, Status.BROKEN)
BINARIES = ("cubin", "hsaco")
# Columns of the index: stages of both backends that stand at the same place.
LADDER = (
    ("ttir", ("ttir",)),
    ("ttgir", ("ttgir",)),
    ("llir", ("llir",)),
    ("assembly", ("ptx", "amdgcn")),
    ("sass", ("sass",)),
    ("binary", BINARIES),
)
_LETTERS = {"ttir": "T", "ttgir": "G", "llir": "L", "assembly": "A", "sass": "S", "binary": "B"}
_ORDER = [stage for _, stages in LADDER for stage in stages]
_COUNT = re.compile(r" \(\d+\)$")
_STATES = {
    Verdict.IDENTICAL: ("=", "identical"),
    Verdict.EQUIVALENT: ("~", "equivalent"),
    Verdict.DIFFERENT: ("x", "different"),
    Verdict.NONDETERMINISTIC: ("?", "nondeterministic"),
}


@dataclasses.dataclass(frozen=True, slots=True)
class Depth:
    """How far down the ladder a case is equal: a letter, a level for its colour, and words.

    A capital letter stands for equal bytes, a small one for equality after rules.
    """

    letter: str
    level: str
    words: str


@dataclasses.dataclass(frozen=True, slots=True)
class Rung:
    """One stage of one case. ``state`` is a verdict in lower case, or ``absent``."""

    stage: str
    symbol: str
    state: str
    comparison: Comparison | None
    judgement: Judgement | None

    @property
    def differs(self) -> bool:
        """Whether the stage's bytes are not the same, or not there, on both sides."""
        return self.comparison is not None and self.comparison.raw is not Verdict.IDENTICAL


@dataclasses.dataclass(frozen=True, slots=True)
class Cause:
    """A pass (or, failing that, a stage) where a difference comes from, and what it is."""

    place: str
    kinds: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class CaseView:
    """One case as the pages show it."""

    result: CaseResult
    slug: str
    page: str
    status: Status
    depth: Depth
    rungs: tuple[Rung, ...]
    attribution: str
    causes: tuple[Cause, ...]

    @property
    def id(self) -> str:
        """The case's id."""
        return self.result.case.id

    @property
    def target(self) -> str:
        """The case's target, as text."""
        return str(self.result.case.target)

    @property
    def href(self) -> str:
        """The case's place, relative to the index."""
        return f"{self.page}#{self.slug}"

    def columns(self) -> list[Rung | None]:
        """The rungs under the columns of LADDER, None where the target has no such stage."""
        by_stage = {rung.stage: rung for rung in self.rungs}
        return [
            next((by_stage[stage] for stage in stages if stage in by_stage), None)
            for _, stages in LADDER
        ]

    @property
    def reason(self) -> str:
        """Why the case has its status: the reason of its worst judgement."""
        worst = [j for j in self.result.judgements if j.status is self.status]
        return worst[0].reason if worst else "not judged"


@dataclasses.dataclass(frozen=True, slots=True)
class KernelView:
    """One kernel and all its cases, in run order."""

    id: str
    family: str
    slug: str
    cases: tuple[CaseView, ...]

    @property
    def name(self) -> str:
        """The kernel's id without its family."""
        return self.id.removeprefix(f"{self.family}/")

    @property
    def statuses(self) -> list[tuple[str, int]]:
        """How many cases have each status, the worst status first."""
        counts = Counter(case.status for case in self.cases)
        return [(status.value, counts[status]) for status in reversed(Status) if counts[status]]

    @property
    def page(self) -> str:
        """The kernel's page, relative to the index."""
        return f"kernel/{self.slug}.html"


@dataclasses.dataclass(frozen=True, slots=True)
class Figure:
    """A headline figure: so many of so many, and what more there is to say."""

    label: str
    part: int
    whole: int
    note: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Group:
    """Cases that share something: a cause, a ledger entry, a way to fail."""

    name: str
    detail: str
    cases: tuple[CaseView, ...]
    words: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class RunView:
    """A whole run. ``tone`` is ``good``, ``known`` or ``bad``; ``sentence`` is its first line.

    ``sides`` are the reference's and the candidate's role, each with its distributions in words.
    """

    run: Run
    tone: str
    sentence: str
    kernels: tuple[KernelView, ...]
    cases: tuple[CaseView, ...]
    figures: tuple[Figure, ...]
    stages: tuple[tuple[str, Counter[str]], ...]
    news: tuple[CaseView, ...]
    causes: tuple[Group, ...]
    ledger: tuple[Group, ...]
    failures: tuple[Group, ...]
    sides: tuple[tuple[str, str], ...]

    @property
    def targets(self) -> list[str]:
        """Every target of the run."""
        return sorted({case.target for case in self.cases})


def build(run: Run) -> RunView:
    """Work out everything that the pages show."""
    kernels = _kernels(run)
    cases = tuple(case for kernel in kernels for case in kernel.cases)
    tone, sentence = _sentence(run, cases)
    order = list(Status)
    news = [case for case in cases if case.status in ALARMS]
    return RunView(
        run=run,
        tone=tone,
        sentence=sentence,
        kernels=kernels,
        cases=cases,
        figures=_figures(run, cases),
        stages=_stages(cases),
        news=tuple(sorted(news, key=lambda case: -order.index(case.status))),
        causes=_causes(cases),
        ledger=_ledger(cases),
        failures=_failures(cases),
        sides=tuple(
            (role, distributions(run.toolchains.get(role)))
            for role in (run.reference, run.candidate)
        ),
    )


def slugs(names: Iterable[str]) -> dict[str, str]:
    """A distinct name for each of ``names`` that is safe in a path, a URL and an HTML id."""
    given: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        if name not in given:
            slug = re.sub(r"[^A-Za-z0-9_.-]+", "-", name.replace("/", ".")).strip(".-")[:100]
            if not slug or slug.lower() in taken:
                slug += "-" + hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8]
            taken.add(slug.lower())
            given[name] = slug
    return given


def distributions(toolchain: ToolchainIdentity | None) -> str:
    """A toolchain's distributions, ``name version``, those of Triton if there are any."""
    if toolchain is None:
        return "not described in this run"
    of_triton = [d for d in toolchain.distributions if "triton" in d.lower()]
    return " + ".join(d.replace("==", " ") for d in of_triton or toolchain.distributions)


# --- cases --------------------------------------------------------------------------------


def _kernels(run: Run) -> tuple[KernelView, ...]:
    grouped: dict[str, list[CaseResult]] = defaultdict(list)
    for result in run.results:
        grouped[result.case.kernel].append(result)
    kernel_slugs = slugs(grouped)
    case_slugs = slugs(result.case.id for result in run.results)
    found = []
    for kernel, results in grouped.items():
        view = KernelView(kernel, results[0].case.family, kernel_slugs[kernel], ())
        cases = tuple(_case(result, case_slugs[result.case.id], view.page) for result in results)
        found.append(dataclasses.replace(view, cases=cases))
    return tuple(sorted(found, key=lambda kernel: (kernel.family, kernel.id)))


def _case(result: CaseResult, slug: str, page: str) -> CaseView:
    rungs = _rungs(result)
    differs = any(rung.state not in ("identical", "equivalent") for rung in rungs)
    explanation = result.explanation
    return CaseView(
        result=result,
        slug=slug,
        page=page,
        status=result.status(),
        depth=_depth(result, rungs),
        rungs=rungs,
        attribution=explanation.attributions[0]
        if explanation is not None and explanation.attributions and differs
        else "",
        causes=_case_causes(result, rungs),
    )


def _rungs(result: CaseResult) -> tuple[Rung, ...]:
    judged = {judgement.stage: judgement for judgement in result.judgements}
    compared = {comparison.stage: comparison for comparison in result.comparisons}
    stages = [*result.case.target.stages, *(s for s in compared if s not in _ORDER)]
    if "sass" in compared:
        stages.insert(stages.index("cubin"), "sass")
    rungs = []
    for stage in stages:
        comparison = compared.get(stage)
        artifact = "cubin" if stage == "sass" else stage
        both = all(artifact in side.artifacts for side in result.compilations.values())
        symbol, state = _STATES[comparison.verdict] if comparison and both else (".", "absent")
        rungs.append(Rung(stage, symbol, state, comparison, judged.get(stage)))
    return tuple(rungs)


def _depth(result: CaseResult, rungs: Sequence[Rung]) -> Depth:
    if result.status() is Status.BROKEN:
        return Depth("!", "broken", "could not be measured")
    if result.outcome.startswith("BOTH "):
        return Depth("R", "refused", "both sides fail alike")
    if not result.outcome.startswith("OK"):
        return Depth("E", "failed", f"a side fails: {result.outcome}")
    if any(rung.state == "nondeterministic" for rung in rungs):
        return Depth("?", "unstable", "a side differs from itself")
    by_stage = {rung.stage: rung for rung in rungs}
    for column, stages in reversed(LADDER):
        for stage in stages:
            state = by_stage[stage].state if stage in by_stage else ""
            letter = _LETTERS[column]
            if state == "identical":
                return Depth(letter, column, f"identical down to {stage}")
            if state == "equivalent":
                return Depth(letter.lower(), column, f"equal after rules down to {stage}")
    return Depth("N", "nothing", "equal nowhere")


def _case_causes(result: CaseResult, rungs: Sequence[Rung]) -> tuple[Cause, ...]:
    explanation = result.explanation
    for compilation in result.compilations.values():
        if compilation.outcome is not Outcome.OK:
            place = explanation.failing_pass if explanation is not None else ""
            failure = compilation.failure
            if failure is not None:
                place = place or failure.pass_name or failure.phase
            return (Cause(place, (result.outcome,)),)
    hunks = [hunk for rung in rungs if rung.comparison for hunk in rung.comparison.hunks]
    grave = {uncounted(hunk.kind) for hunk in hunks if hunk.significance == "significant"}

    def harmless(kind: str) -> bool:
        return uncounted(kind) not in grave

    if explanation is not None and explanation.births:
        births = [
            Cause(birth.pass_name, tuple(sorted(map(uncounted, birth.kinds), key=harmless)))
            for birth in explanation.births
        ]
        return tuple(sorted(births, key=lambda cause: all(map(harmless, cause.kinds))))
    for rung in rungs:
        if rung.comparison is not None and rung.state not in ("identical", "equivalent"):
            kinds = dict.fromkeys(hunk.kind for hunk in rung.comparison.hunks if hunk.kind)
            return (Cause(rung.stage, tuple(sorted(kinds, key=harmless)) or (rung.state,)),)
    return ()


def uncounted(kind: str) -> str:
    """A kind without how often it occurs: ``address computation (2)`` is the same cause as (3)."""
    return _COUNT.sub("", kind)


# --- the run ------------------------------------------------------------------------------


def _sentence(run: Run, cases: Sequence[CaseView]) -> tuple[str, str]:
    if run.void:
        return "bad", f"Void, nothing was measured: {run.void}"
    count = Counter(case.status for case in cases)
    equal = [case for case in cases if _equal_everywhere(case)]
    new = count[Status.NEW] + count[Status.CHANGED]
    parts = [f"{new} new difference{'' if new == 1 else 's'}", f"{count[Status.EXPECTED]} expected"]
    if count[Status.REFUSED]:
        parts.append(f"{count[Status.REFUSED]} refused by both")
    if count[Status.BROKEN]:
        parts.append(f"{count[Status.BROKEN]} not measured")
    parts.append(f"{len(equal)} of {len(cases)} cases equal at every stage")
    problems = len(run.ledger_problems) + len(run.broken)
    if problems:
        parts.append(f"{problems} problem{'' if problems == 1 else 's'} outside the cases")
    bad = new or count[Status.BROKEN] or problems
    good = len(equal) == len(cases)
    return "bad" if bad else "good" if good else "known", ", ".join(parts)


def _equal_everywhere(case: CaseView) -> bool:
    return case.result.outcome.startswith("OK") and all(
        rung.state in ("identical", "equivalent") for rung in case.rungs
    )


def _figures(run: Run, cases: Sequence[CaseView]) -> tuple[Figure, ...]:
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
                f" gives {run.reference}'s binary",
                crossed["yes"],
                crossed["yes"] + crossed["no"],
                f"{crossed['unknown']} unknown" if crossed["unknown"] else "of cases crossed",
            )
        )
    same, shared, ungrafted = pass_behaviour(explained)
    if same or ungrafted < shared:
        note = f"{ungrafted} never grafted" if ungrafted else "on every input of the run"
        figures.append(Figure("passes behave identically", same, shared, note))
    attributed = [case.attribution for case in cases if case.attribution]
    if attributed:
        unresolved = attributed.count("unresolved")
        figures.append(
            Figure("attributions unresolved", unresolved, len(attributed), "of cases that differ")
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


def _stages(cases: Sequence[CaseView]) -> tuple[tuple[str, Counter[str]], ...]:
    counts: dict[str, Counter[str]] = {}
    for case in cases:
        for rung in case.rungs:
            counts.setdefault(rung.stage, Counter())[rung.state] += 1
    order = [*_ORDER, *(stage for stage in counts if stage not in _ORDER)]
    return tuple((stage, counts[stage]) for stage in order if stage in counts)


def _causes(cases: Sequence[CaseView]) -> tuple[Group, ...]:
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


def _ledger(cases: Sequence[CaseView]) -> tuple[Group, ...]:
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


def _failures(cases: Sequence[CaseView]) -> tuple[Group, ...]:
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


def side_of(row: AlignedPass) -> str:
    """``both``, ``reference`` or ``candidate``: who runs the pass of an aligned row.

    A row that is no pass (the front end's result) is both sides' too.
    """
    if (row.left is None) == (row.right is None):
        return "both"
    return "candidate" if row.left is None else "reference"
