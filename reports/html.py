"""The HTML pages: one self-contained file each, bounded in size, safe against hostile text."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Sequence
from typing import TypeVar

from markupsafe import Markup

from harness.result import USE_STATES, Status
from reports.cases import ALARMS, CaseView, KernelView
from reports.files import Links
from reports.hunks import diffs_of
from reports.ladder import legend
from reports.names import SIGNS, use_counts
from reports.templating import fragment, page
from reports.trends import TrendView
from reports.view import RunView

# A page over 2 MB is a defect. Bytes that all the cases of a kernel's page, or all the rows of
# an index, may take together; characters of a kernel's source.
CASES_LIMIT = 1_600_000
ROWS_LIMIT = 1_500_000
SOURCE_LIMIT = 120_000
_K = TypeVar("_K")


def index_page(view: RunView, has_matrix: bool = False) -> str:
    """The index: what is new first, then the heat map, causes, ledger, failures and cases. It
    links to the version matrix if there is one."""
    priority = sorted(view.cases, key=_urgency)
    rows = {
        case.id: fragment("row.html.j2", case=case, link=case.href, name=case.id)
        for case in priority
    }
    listed = set(_fitting([(case.id, rows[case.id]) for case in priority], ROWS_LIMIT))
    kernels = [
        dataclasses.replace(kernel, cases=cases)
        for kernel in view.kernels
        if (cases := tuple(case for case in kernel.cases if case.id in listed))
    ]
    shown = [case for kernel in kernels for case in kernel.cases]
    return page(
        "index.html.j2",
        view=view,
        has_matrix=has_matrix,
        root="",
        kernels=kernels,
        rows=[rows[case.id] for case in shown],
        unlisted=len(view.cases) - len(shown),
        facets=_facets(shown),
        legend=legend(case.depth for case in shown),
        states=[pair for pair in _STATES if any(counts[pair[0]] for _, counts in view.stages)],
        hrefs={case.id: case.href for case in view.cases},
    )


def kernel_page(view: RunView, kernel: KernelView, links: Links) -> str:
    """A kernel's page: all its cases, those that matter most in full if not all have room."""
    priority = sorted(kernel.cases, key=_urgency)
    diffs = diffs_of(view, priority, links)
    calm = all(case.status not in ALARMS for case in kernel.cases)

    def render(case: CaseView, full: bool) -> Markup:
        return fragment(
            "case.html.j2",
            view=view,
            case=case,
            full=full,
            open=case.status in ALARMS or (calm and case is kernel.cases[0]),
            diffs=diffs[case.id] if full else (),
            links=links,
            root="../",
        )

    bodies = {case.id: render(case, full=True) for case in kernel.cases}
    rows = {
        case.id: fragment(
            "row.html.j2", case=case, link=f"#{case.slug}", name=case.result.case.spec
        )
        for case in kernel.cases
    }
    brief = missing = 0
    room = CASES_LIMIT - sum(len(text.encode()) for text in (*bodies.values(), *rows.values()))
    for _, group in itertools.groupby(reversed(priority), key=_urgency):
        cases = list(group)
        # All of a status in brief before any of it is left out, and before a worse one is cut.
        for case in cases:
            if room < 0:
                room += len(bodies[case.id].encode())
                bodies[case.id] = render(case, full=False)
                room -= len(bodies[case.id].encode())
                brief += 1
        for case in cases:
            if room < 0:
                room += len(bodies.pop(case.id).encode()) + len(rows.pop(case.id).encode())
                missing += 1
    source = kernel.cases[0].result.case.source
    return page(
        "kernel.html.j2",
        view=view,
        root="../",
        kernel=kernel,
        rows=list(rows.values()),
        bodies=list(bodies.values()),
        missing=missing,
        brief=brief - missing,
        source=source[:SOURCE_LIMIT],
        source_missing=max(0, len(source) - SOURCE_LIMIT),
    )


def coverage_page(view: RunView) -> str:
    """The public TLX names: who has them, how they are called, what exercises them."""
    counts = use_counts(view.run)
    given = {"view": view, "targets": [target for target, _ in counts], "signs": SIGNS}
    given["states"] = USE_STATES
    rows = [(name, fragment("name.html.j2", name=name, **given)) for name in view.names]
    listed = _fitting(rows, ROWS_LIMIT)
    return page(
        "coverage.html.j2",
        **given,
        counts=counts,
        rows=[html for _, html in rows[: len(listed)]],
        unlisted=len(rows) - len(listed),
    )


def trends_page(view: RunView, trends: TrendView) -> str:
    """How verdicts, times and sizes went from night to night."""
    pages = {kernel.id: kernel.page for kernel in view.kernels}
    rows = [
        (strip, fragment("strip.html.j2", strip=strip, width=trends.width, pages=pages))
        for strip in trends.strips
    ]
    shown = len(_fitting(rows, ROWS_LIMIT))
    return page(
        "trends.html.j2",
        view=view,
        trends=trends,
        restless=[row for strip, row in rows[:shown] if strip.restless],
        calm=[row for strip, row in rows[:shown] if not strip.restless],
        unlisted=len(rows) - shown,
        statuses=[status.value for status in Status],
    )


# --- bounds and order ---------------------------------------------------------------------


def _urgency(case: CaseView) -> int:
    return -list(Status).index(case.status)


def _fitting(pieces: Iterable[tuple[_K, str]], limit: int) -> list[_K]:
    """The keys of the first pieces that together stay below ``limit`` bytes."""
    kept = []
    for key, text in pieces:
        limit -= len(text.encode())
        if limit < 0:
            break
        kept.append(key)
    return kept


def _facets(cases: Sequence[CaseView]) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """The index's filters: (key, label, [(value, words)]), only where there is a choice."""

    def plain(values: Iterable[str]) -> list[tuple[str, str]]:
        return [(value, value) for value in values]

    statuses = {case.status for case in cases}
    facets = [
        ("status", "Judged", plain(status.value for status in Status if status in statuses)),
        (
            "depth",
            "Equal down to",
            [(level, words) for _, level, words in legend(c.depth for c in cases)],
        ),
        ("target", "Target", plain(sorted({case.target for case in cases}))),
        ("family", "Family", plain(sorted({case.result.case.family for case in cases}))),
        ("cause", "Attribution", plain(sorted({case.attribution for case in cases} - {""}))),
    ]
    return [facet for facet in facets if len(facet[2]) > 1 or facet[0] == "status"]


_STATES = (
    ("identical", "identical"),
    ("equivalent", "by rules"),
    ("different", "different"),
    ("nondeterministic", "unstable"),
    ("absent", "none"),
)
