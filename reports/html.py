"""The HTML pages: one self-contained file each, bounded in size, safe against hostile text."""

from __future__ import annotations

import base64
import dataclasses
import functools
import hashlib
import itertools
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from harness.explanation import AlignedPass, Count, Crossing, Resources
from harness.model import Case, Comparison, Hunk, Status
from reports import charts, highlight
from reports.files import Links
from reports.view import (
    ALARMS,
    LADDER,
    CaseView,
    KernelView,
    RunView,
    distributions,
    said,
    side_of,
)

PAGE_LIMIT = 2_000_000
# What all the cases of a kernel's page, and all the rows of the index, may take together.
CASES_LIMIT = 1_600_000
INDEX_LIMIT = 1_500_000
# What the hunks of a kernel's page may take together, and how many are worked out.
HUNK_BYTES = 640_000
HUNK_COUNT = 120
HUNKS_OF_STAGE = 10
SOURCE_LIMIT = 120_000
NEWS_SHOWN = 40
GROUPS_SHOWN = 60
_SIGNIFICANCE = ("significant", "unclear", "benign")
_HERE = Path(__file__).parent / "templates"


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


def index_page(view: RunView) -> str:
    """The index: what is new first, then the heat map, causes, ledger, failures and cases."""
    row = _environment().get_template("row.html.j2")
    priority = sorted(view.cases, key=_urgency)
    rows = {case.id: row.render(case=case, link=case.href, name=case.id) for case in priority}
    listed = set(_fitting([(case.id, rows[case.id]) for case in priority], INDEX_LIMIT))
    kernels = [
        dataclasses.replace(kernel, cases=cases)
        for kernel in view.kernels
        if (cases := tuple(case for case in kernel.cases if case.id in listed))
    ]
    shown = [case for kernel in kernels for case in kernel.cases]
    return _page(
        "index.html.j2",
        view=view,
        root="",
        kernels=kernels,
        rows=[Markup(rows[case.id]) for case in shown],
        unlisted=len(view.cases) - len(shown),
        facets=_facets(shown),
        legend=_legend(shown),
        states=[pair for pair in _STATES if any(counts[pair[0]] for _, counts in view.stages)],
    )


def kernel_page(view: RunView, kernel: KernelView, links: Links) -> str:
    """A kernel's page: all its cases, those that matter most in full if not all have room."""
    template = _environment().get_template("case.html.j2")
    row = _environment().get_template("row.html.j2")
    priority = sorted(kernel.cases, key=_urgency)
    diffs = _diffs(view, priority, links)

    def render(case: CaseView, full: bool) -> str:
        return template.render(
            view=view,
            case=case,
            full=full,
            open=case.status in ALARMS or len(kernel.cases) == 1,
            diffs=diffs[case.id] if full else (),
            links=links,
            root="../",
        )

    bodies = {case.id: render(case, full=True) for case in kernel.cases}
    rows = {
        case.id: row.render(case=case, link=f"#{case.slug}", name=case.result.case.spec)
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
    return _page(
        "kernel.html.j2",
        view=view,
        root="../",
        kernel=kernel,
        rows=[Markup(text) for text in rows.values()],
        bodies=[Markup(text) for text in bodies.values()],
        missing=missing,
        brief=brief - missing,
        source=source[:SOURCE_LIMIT],
        source_missing=max(0, len(source) - SOURCE_LIMIT),
    )


# --- hunks --------------------------------------------------------------------------------


def _diffs(
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
    template = _environment().get_template("hunk.html.j2")
    shown: list[Markup] = []
    for hunk in _ordered(comparison.hunks)[:most]:
        html = template.render(
            hunk=hunk,
            significance=_class(hunk),
            stage=stage,
            panes=highlight.panes(stage, hunk.left, hunk.right, hunk.left_line, hunk.right_line),
            view=view,
        )
        room -= len(html.encode())
        if room < 0:
            break
        shown.append(Markup(html))
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


# --- bounds and order ---------------------------------------------------------------------


def _urgency(case: CaseView) -> int:
    return -list(Status).index(case.status)


def _fitting(pieces: Iterable[tuple[Any, str]], limit: int) -> list[Any]:
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
        ("depth", "Equal down to", [(level, words) for _, level, words in _legend(cases)]),
        ("target", "Target", plain(sorted({case.target for case in cases}))),
        ("family", "Family", plain(sorted({case.result.case.family for case in cases}))),
        ("cause", "Attribution", plain(sorted({case.attribution for case in cases} - {""}))),
    ]
    return [facet for facet in facets if len(facet[2]) > 1 or facet[0] == "status"]


def _legend(cases: Sequence[CaseView]) -> list[tuple[str, str, str]]:
    """The letters of the heat map that occur: (letter, level, words), deepest first."""
    present = {case.depth.level for case in cases}
    return [entry for entry in _LEGEND if entry[1] in present]


_STATES = (
    ("identical", "identical"),
    ("equivalent", "by rules"),
    ("different", "different"),
    ("nondeterministic", "unstable"),
    ("absent", "none"),
)
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


# --- jinja --------------------------------------------------------------------------------


def _page(template: str, **values: Any) -> str:
    style, script = _style(), _asset("report.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}';"
        " base-uri 'none'; form-action 'none'"
    )
    return (
        _environment()
        .get_template(template)
        .render(policy=policy, style=Markup(style), script=Markup(script), **values)
    )


@functools.cache
def _asset(name: str) -> str:
    return (_HERE / name).read_text("utf-8")


@functools.cache
def _style() -> str:
    """The style sheet, with a class for each number of rows that a pane may span."""
    spans = range(1, 2 * highlight.LINES_SHOWN + 3)
    rules = "".join(f".n{count}{{grid-row:span {count}}}" for count in spans)
    return _asset("report.css").replace("/* row spans */", rules)


@functools.cache
def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=_finalize,
    )
    environment.filters |= _FILTERS
    environment.globals |= {
        "trace": charts.trace,
        "paint": highlight.paint,
        "panes": highlight.panes,
        "distributions": distributions,
        "resource_rows": _RESOURCES,
        "news_shown": NEWS_SHOWN,
        "groups_shown": GROUPS_SHOWN,
    }
    return environment


def _finalize(value: Any) -> Any:
    """Every plain text on a page, without characters that hide or reorder what is read."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return highlight.visible(value)
    return value


def _short(value: str) -> Markup:
    """A hash, short, with the whole of it on hover and to copy."""
    value = highlight.visible(value)
    return Markup(
        '<button type="button" class="hash" data-copy="{0}" title="copy {0}">{1}</button>'
    ).format(value, value[:10])


def _clip(text: str, most: int) -> str:
    """``text``, or its first ``most`` characters and how many more there are."""
    return text if len(text) <= most else f"{text[:most]} … {len(text) - most:,} more characters"


def _delta(left: float | None, right: float | None) -> str:
    if left is None or right is None or left == right:
        return ""
    return f"{right - left:+,}".replace("-", "−")


def _tables(counts: Sequence[Count]) -> list[tuple[str, str, list[Count], list[Count]]]:
    """Counts by stage and table: (stage, table, those that differ, those that do not)."""
    keys = dict.fromkeys((count.stage, count.table) for count in counts)
    return [
        (
            stage,
            table,
            [c for c in counts if (c.stage, c.table) == (stage, table) and c.left != c.right],
            [c for c in counts if (c.stage, c.table) == (stage, table) and c.left == c.right],
        )
        for stage, table in keys
    ]


def _commands(case: Case) -> list[str]:
    """What to type to see this case again."""
    root = case.folder.removesuffix("/" + case.kernel)
    name = shlex.quote(case.id)
    return [f"tlx-equiv run {name} --corpus {shlex.quote(root)}", f"tlx-equiv show {name}"]


def _deepest(cell: Crossing) -> tuple[str, str]:
    """The last stage that came out of a crossing, and its hash; empty if none did."""
    order = [stage for _, stages in LADDER for stage in stages]
    known = [stage for stage in order if stage in cell.artifacts]
    stage = known[-1] if known else next(iter(cell.artifacts), "")
    return stage, cell.artifacts.get(stage, "")


def _changed_options(row: AlignedPass) -> str:
    """The options that two sides give one pass differently, ``name=left → right``."""
    sides = [
        {name: value for name, _, value in (word.partition("=") for word in options.split())}
        for options in (row.left_options, row.right_options)
    ]
    changed = [
        f"{name}={sides[0].get(name, 'unset')} → {sides[1].get(name, 'unset')}"
        for name in dict.fromkeys([*sides[0], *sides[1]])
        if sides[0].get(name) != sides[1].get(name)
    ]
    return ", ".join(changed) or f"{row.left_options} → {row.right_options}"


def _mix_rows(
    left: Resources | None, right: Resources | None
) -> tuple[list[tuple[str, int, int]], list[tuple[str, int]]]:
    """Instructions that differ, with both counts, largest change first; then those that do not."""
    a, b = (side.mix if side is not None else {} for side in (left, right))
    rows = [(name, a.get(name, 0), b.get(name, 0)) for name in {**a, **b}]
    differ = [row for row in rows if row[1] != row[2]]
    differ.sort(key=lambda row: -abs(row[1] - row[2]))
    return differ, [(name, count) for name, count, other in rows if count == other]


def _event(event: str) -> str:
    return event if event in ("born", "grows", "shrinks", "vanishes") else "other"


def _items(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in values.items())


_HOW_KNOWN = {
    "graft": "on the same IR, the pass itself behaves differently",
    "only here": "one side only runs it",
    "front end": "",
}
_RESOURCES = (
    ("registers", "registers per thread"),
    ("spill_stores", "spill stores, bytes per thread"),
    ("spill_loads", "spill loads, bytes per thread"),
    ("stack", "stack, bytes per thread"),
    ("shared", "shared memory, bytes per CTA"),
    ("threads", "threads per CTA"),
    ("instructions", "instructions"),
)
_FILTERS: dict[str, Callable[..., Any]] = {
    "changed_options": _changed_options,
    "clip": _clip,
    "commands": _commands,
    "deepest": _deepest,
    "delta": _delta,
    "event": _event,
    "how_known": lambda by: _HOW_KNOWN.get(by, by),
    "items_text": _items,
    "measured": lambda side: side is not None and side != Resources(),
    "mix_rows": _mix_rows,
    "quoted": shlex.quote,
    "said": said,
    "short": _short,
    "side": side_of,
    "tables": _tables,
}
