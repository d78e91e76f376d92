"""One case's ladder: its stages with their verdicts, how deep they are equal, and why not."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence

from harness.model import Comparison, Outcome, Verdict
from harness.result import CaseResult, Judgement, Status

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
STAGES = [stage for _, stages in LADDER for stage in stages]
_LEGEND = (
    ("B", "binary", "binary"),
    ("S", "sass", "sass"),
    ("A", "assembly", "assembly"),
    ("L", "llir", "llir"),
    ("G", "ttgir", "ttgir"),
    ("T", "ttir", "ttir"),
    ("N", "nothing", "nowhere"),
    ("E", "failed", "one side fails"),
    ("R", "refused", "both fail alike"),
    ("?", "unstable", "a side differs from itself"),
    ("!", "broken", "not measured"),
)
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


def rungs_of(result: CaseResult) -> tuple[Rung, ...]:
    """Every stage of the case's target, and what else was compared, in pipeline order."""
    judged = {judgement.stage: judgement for judgement in result.judgements}
    compared = {comparison.stage: comparison for comparison in result.comparisons}
    stages = [*result.case.target.stages, *(s for s in compared if s not in STAGES)]
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


def depth_of(result: CaseResult, rungs: Sequence[Rung]) -> Depth:
    """The deepest stage at which both sides are equal, or what stood in the way of comparing."""
    if result.status() is Status.BROKEN:
        return Depth("!", "broken", "could not be measured")
    return depth(result.outcome, {rung.stage: rung.state for rung in rungs})


def depth(outcome: str, states: Mapping[str, str]) -> Depth:
    """The same from an outcome and the state of each stage."""
    if outcome.startswith("BOTH "):
        return Depth("R", "refused", "both sides fail alike")
    if not outcome.startswith("OK"):
        return Depth("E", "failed", f"a side fails: {outcome}")
    if "nondeterministic" in states.values():
        return Depth("?", "unstable", "a side differs from itself")
    for column, stages in reversed(LADDER):
        for stage in stages:
            letter = _LETTERS[column]
            if states.get(stage) == "identical":
                return Depth(letter, column, f"identical down to {stage}")
            if states.get(stage) == "equivalent":
                return Depth(letter.lower(), column, f"equal after rules down to {stage}")
    return Depth("N", "nothing", "equal nowhere")


def legend(depths: Iterable[Depth]) -> list[tuple[str, str, str]]:
    """The letters that occur among ``depths``: (letter, level, words), deepest first."""
    present = {each.level for each in depths}
    return [entry for entry in _LEGEND if entry[1] in present]


def causes_of(result: CaseResult, rungs: Sequence[Rung]) -> tuple[Cause, ...]:
    """Where the case's differences come from, those of significant kinds first.

    A failure is the only cause of a case that fails. Without an explanation, the first stage
    that differs has to do.
    """
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
