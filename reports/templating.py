"""Templates: how values become markup, and nothing that is only text ever does."""

from __future__ import annotations

import base64
import functools
import hashlib
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from harness.change import alike
from harness.explanation import AlignedPass, Count, Crossing, Resources
from harness.model import Case
from harness.result import reproduce
from reports import charts, highlight
from reports.gpu import ratio_words
from reports.ladder import STAGES
from reports.plugins import passes_in
from reports.tallies import said
from reports.view import distributions, side_of

# Rows that a table of the index shows before it says how many more there are.
NEWS_SHOWN = 40
GROUPS_SHOWN = 60
_HERE = Path(__file__).parent / "templates"


def fragment(template: str, **values: Any) -> Markup:
    """A part of a page, escaped as it must be."""
    return Markup(_environment().get_template(template).render(**values))


def page(template: str, **values: Any) -> str:
    """A whole page, with its style, its script, and a policy that allows only these two."""
    style, script = _style(), _asset("report.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}';"
        " base-uri 'none'; form-action 'none'"
    )
    values |= {"policy": policy, "style": Markup(style), "script": Markup(script)}
    return _environment().get_template(template).render(**values)


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
        "passes_in": passes_in,
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


def _commands(case: Case, options: Sequence[str]) -> list[tuple[str, str]]:
    """What to type to see this case again: (label, command)."""
    name = shlex.quote(case.id)
    return [
        ("Run again", reproduce(case, options)),
        ("Explain", f"tlx-equiv explain {name}"),
        ("Reproducer", f"tlx-equiv repro {name} --out reproducer"),
    ]


def _deepest(cell: Crossing) -> tuple[str, str]:
    """The last stage that came out of a crossing, and its hash; empty if none did."""
    known = [stage for stage in STAGES if stage in cell.artifacts]
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


def _both_sides(values: Mapping[str, int], reference: str, candidate: str) -> str:
    """One number where both sides have the same, ``left → right`` where they do not."""
    left, right = values.get(reference), values.get(candidate)
    if left is None or right is None:
        return "" if not values else f"{next(iter(values.values())):,}"
    return f"{left:,}" if left == right else f"{left:,} → {right:,}"


def _event(event: str) -> str:
    return event if event in ("born", "grows", "shrinks", "vanishes") else "other"


def _items(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in values.items())


_HOW_KNOWN = {
    "graft": "on the same IR, the pass itself behaves differently",
    "only here": "one side only runs it",
    "moved": "the two sides run it at different places",
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
    "alike": alike,
    "both_sides": _both_sides,
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
    "ratio": ratio_words,
    "said": said,
    "short": _short,
    "side": side_of,
    "tables": _tables,
}
