"""Whose difference it is, concluded from measured evidence only.

``frontend``: it is there before any pass that both sides run. ``plugin-passes``: a pass of the
plugin, or its choice to add, leave out or parametrise a pass. ``base-drift``: the fork's and
upstream's own pass of one name behave differently on the same IR, or only one of them has it.
``assembler``: the same assembly gives another binary. ``debug-info``: only that differs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.explanation import AlignedPass, Birth, Crossing
from harness.model import Comparison, Compilation, Outcome, Verdict

GOOD = (Verdict.IDENTICAL, Verdict.EQUIVALENT)
BACK_END = "make_llir"
FRONT_END_PHASES = ("import", "frontend", "start")


def of_birth(birth: Birth, row: AlignedPass) -> str:
    """The attribution of a single birth: whose pass it is, or whose pass is missing."""
    if birth.by == "front end":
        return "frontend"
    if row.plugin or (row.right is None and row.name.startswith("tlx-")):
        return "plugin-passes"
    return "base-drift"


def same_back_end(matrix: Sequence[Crossing], roles: tuple[str, str]) -> str:
    """Whether the reference's back end turns the candidate's TTGIR into its own assembly."""
    cell = _cell(matrix, roles[1], roles[0])
    if cell is None or cell.void:
        return "unknown"
    return "yes" if roles[0] in cell.equals else "no"


def attribute(
    births: Sequence[Birth],
    rows: Sequence[AlignedPass],
    matrix: Sequence[Crossing],
    comparisons: Sequence[Comparison],
    roles: tuple[str, str],
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Attributions, decisive first, and the sentences they rest on, for two compiled sides."""
    reference, candidate = roles
    found: list[str] = []
    evidence: list[str] = []

    def conclude(attribution: str, sentence: str) -> None:
        if attribution not in found:
            found.append(attribution)
        if sentence not in evidence:
            evidence.append(sentence)

    by_stage = {comparison.stage: comparison.verdict for comparison in comparisons}
    text, binary = ("ptx", "cubin") if "cubin" in by_stage else ("amdgcn", "hsaco")
    binary_differs = by_stage.get(binary) not in GOOD
    crossed = same_back_end(matrix, roles)
    if binary_differs and by_stage.get(text) in GOOD:
        conclude("assembler", f"{text} is equal, {binary} is not")
    if binary_differs and crossed == "yes":
        conclude(
            "base-drift",
            f"{reference}'s back end turns {candidate}'s TTGIR into {reference}'s own {text}:"
            " the difference in the binary is the back end's",
        )
    for birth in births:
        row = rows[birth.row]
        if binary_differs and crossed == "yes" and birth.manager != BACK_END:
            continue
        kinds = f" ({', '.join(birth.kinds[:3])})" if birth.kinds else ""
        conclude(of_birth(birth, row), _sentence(birth, row, roles) + kinds)
    other = _cell(matrix, reference, candidate)
    if binary_differs and other is not None and not other.void and reference not in other.equals:
        conclude(
            "base-drift",
            f"{candidate}'s back end does not turn {reference}'s own TTGIR into {reference}'s"
            f" {text}: the back ends differ",
        )
    if not binary_differs and crossed == "yes":
        evidence.append(f"{reference}'s back end gives the same {text} from both sides' TTGIR")
    return tuple(found) or ("unresolved",), tuple(evidence)


def attribute_failure(
    compilations: Mapping[str, Compilation],
    births: Sequence[Birth],
    rows: Sequence[AlignedPass],
    accepted_elsewhere: bool | None,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Like ``attribute``, where a side gave no binary.

    ``accepted_elsewhere``: whether the other side's pass of the same name takes the very IR
    that the failing pass was given; None if that could not be tried.
    """
    for role, compilation in compilations.items():
        failure = compilation.failure
        if failure is None or compilation.outcome is Outcome.OK:
            continue
        if failure.phase in FRONT_END_PHASES:
            return ("frontend",), (f"{role} fails in its front end ({failure.phase})",)
        where = f"{role} fails in {failure.pass_name or failure.phase}"
        failing = next((row for row in rows if row.name == failure.pass_name and row.plugin), None)
        if failing is not None or failure.pass_name.startswith(("tlx-", "utlx-")):
            return ("plugin-passes",), (f"{where}, a pass of the plugin",)
        if accepted_elsewhere:
            text = f"{where}; the other side's own pass accepts the same IR"
            return ("base-drift",), (text,)
        before = tuple(dict.fromkeys(of_birth(birth, rows[birth.row]) for birth in births))
        if before and accepted_elsewhere is False:
            text = f"{where}; the other side's pass refuses that IR too: it came in before"
            return before, (text,)
        if before:
            text = f"{where}, after differences born in "
            text += ", ".join(dict.fromkeys(birth.pass_name for birth in births))
            return before, (text,)
    return ("unresolved",), ()


def _sentence(birth: Birth, row: AlignedPass, roles: tuple[str, str]) -> str:
    if birth.by == "front end":
        return "the front ends give different IR"
    if birth.by == "only here":
        only = roles[0] if row.right is None else roles[1]
        return f"{row.name} runs on {only} only, and the difference {birth.event} past it"
    if birth.by == "moved":
        return f"{row.name} runs at another place on {roles[1]}, and the difference grows past it"
    return f"{row.name} behaves differently on the same IR"


def _cell(matrix: Sequence[Crossing], front: str, back: str) -> Crossing | None:
    return next((cell for cell in matrix if cell.front == front and cell.back == back), None)
