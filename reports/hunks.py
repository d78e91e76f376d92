"""Which hunks a kernel's page shows, so that it stays small and what matters most has room."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence

from markupsafe import Markup

from harness.model import Comparison, Hunk
from reports import highlight
from reports.cases import CaseView
from reports.files import Links
from reports.templating import fragment
from reports.view import RunView

# What the hunks of a page may take together, how many it shows in all, and of one stage.
HUNK_BYTES = 640_000
HUNK_COUNT = 100
HUNKS_OF_STAGE = 10
_SIGNIFICANCE = ("significant", "unclear", "benign")


@dataclasses.dataclass(frozen=True, slots=True)
class StageDiff:
    """The hunks of one stage that a page shows, rendered; ``kept`` are in the run's record,
    ``total`` there are in all. ``left`` and ``right`` link to the whole artifacts."""

    stage: str
    html: tuple[Markup, ...]
    shown: int
    kept: int
    total: int
    significance: tuple[tuple[str, int], ...]
    kinds: tuple[tuple[str, int], ...]
    left: str
    right: str


def diffs_of(
    view: RunView, cases: Sequence[CaseView], links: Links
) -> dict[str, tuple[StageDiff, ...]]:
    """For each case the stages that differ, the most urgent cases first to be given room.

    ``cases`` come most urgent first. A stage may use an eighth of what room is left, so that no
    single one takes it all.
    """
    plan = _plan(cases)
    room = HUNK_BYTES
    found: dict[str, tuple[StageDiff, ...]] = {}
    for case in cases:
        stages = []
        for rung in case.rungs:
            if rung.comparison is not None and rung.comparison.hunks:
                planned = plan.get((case.id, rung.stage), 0)
                shown = _shown(view, rung.stage, rung.comparison, planned, room // 8)
                room -= sum(len(html.encode()) for html in shown)
                stages.append(_stage_diff(view, case, rung.comparison, shown, links))
        found[case.id] = tuple(stages)
    return found


def _plan(cases: Sequence[CaseView]) -> dict[tuple[str, str], int]:
    """How many hunks of each (case, stage) to show, HUNK_COUNT in all.

    The first stage of a case that differs may show twice as many as those that follow from it.
    """
    wanted: list[tuple[str, str, int, int]] = []
    for case in cases:
        weight = 2
        for rung in case.rungs:
            if rung.comparison is not None and rung.comparison.hunks:
                wanted.append((case.id, rung.stage, len(rung.comparison.hunks), weight))
                weight = 1
    most = HUNKS_OF_STAGE
    while most > 1 and sum(min(n, weight * most) for *_, n, weight in wanted) > HUNK_COUNT:
        most -= 1
    plan = {}
    left = HUNK_COUNT
    for case_id, stage, n, weight in wanted:
        plan[case_id, stage] = min(n, weight * most, left)
        left -= plan[case_id, stage]
    return plan


def _shown(view: RunView, stage: str, comparison: Comparison, most: int, room: int) -> list[Markup]:
    """The first ``most`` hunks, rendered, as far as ``room`` bytes go."""
    shown: list[Markup] = []
    for hunk in _ordered(comparison.hunks)[:most]:
        html = fragment(
            "hunk.html.j2",
            hunk=hunk,
            significance=_class(hunk),
            stage=stage,
            panes=highlight.panes(stage, hunk.left, hunk.right, hunk.left_line, hunk.right_line),
            view=view,
        )
        room -= len(html.encode())
        if room < 0:
            break
        shown.append(html)
    return shown


def _stage_diff(
    view: RunView, case: CaseView, comparison: Comparison, shown: Sequence[Markup], links: Links
) -> StageDiff:
    classes = Counter(_class(hunk) for hunk in comparison.hunks)
    return StageDiff(
        stage=comparison.stage,
        html=tuple(shown),
        shown=len(shown),
        kept=len(comparison.hunks),
        total=max(comparison.hunks_total, len(comparison.hunks)),
        significance=tuple((name, classes[name]) for name in _SIGNIFICANCE if classes[name]),
        kinds=tuple(Counter(hunk.kind for hunk in comparison.hunks).most_common()),
        left=links.get((case.id, view.run.reference, comparison.stage), ""),
        right=links.get((case.id, view.run.candidate, comparison.stage), ""),
    )


def _ordered(hunks: Sequence[Hunk]) -> list[Hunk]:
    """Significant hunks first; among equals, one of each kind before a second of any."""
    seen: Counter[tuple[str, str]] = Counter()
    keys = []
    for index, hunk in enumerate(hunks):
        significance = _class(hunk)
        keys.append((_SIGNIFICANCE.index(significance), seen[significance, hunk.kind], index))
        seen[significance, hunk.kind] += 1
    return [hunks[index] for *_, index in sorted(keys)]


def _class(hunk: Hunk) -> str:
    return hunk.significance if hunk.significance in _SIGNIFICANCE else "unclear"
