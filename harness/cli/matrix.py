"""``tlx-equiv matrix``: the same probes through many versions of every side."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness import matrix as matrices
from harness import survey
from harness.cli import options
from harness.matrix import Cell, Matrix
from harness.toolchains import controls, declared, ensure
from harness.toolchains.published import order, published, subject
from reports import probe_depth, write_matrix

# Cheap cases that are equal down to different stages, from a plain kernel to a pipelined GEMM.
PROBES = (
    "baseline/vector_add/fp32-1024-w4@cuda:90",
    "baseline/row_softmax/fp32-1024-w4-s2@cuda:90",
    "utilities/thread_ids/x-w4x32@cuda:90",
    "utilities/fp8_unpack/fp8e5-fp16-w8@cuda:90",
    "warp_specialisation/two_tasks/fp32-256-w4-p4@cuda:90",
    "memory/quadrant_sum/i32-i32-32x64@cuda:90",
    "memory/staged_copy/fp32-2x128-w4-s3@cuda:90",
    "memory/staged_copy/fp32-2x128-w4-s3@cuda:100",
    "memory/aliased_buffer/fp16-64x64-w4@hip:gfx942",
    "async_copy/ring_copy/fp32-3x128@cuda:90",
    "tma/store_ring/fp16-64x64-b3-p1@cuda:90",
    "warp_specialisation/relay/fp32-2x128-w4-r40-88@cuda:90",
    "dots/pipelined_gemm/fp16-128x128x64-w4-b3@cuda:90",
)
NEWEST = 12  # versions of each side, unless they are named
ALL = "all"
ROLES = ("fork", "plugin", "upstream")
_STYLES = {"failed": "red", "refused": "magenta", "nothing": "yellow", "binary": "green"}
_Versions = Annotated[
    str | None, typer.Option(metavar="V,...", help="These versions; 'all' is every published one.")
]


def matrix(
    patterns: options.Patterns = None,
    fork: _Versions = None,
    plugin: Annotated[
        str | None,
        typer.Option(metavar="V,...", help="These; V:T names the Triton that it is to run on."),
    ] = None,
    upstream: _Versions = None,
    corpus: options.CorpusDirs = None,
    lane: options.Lane = "controlled",
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Measure everything again, whatever is stored.")
    ] = False,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="Where the record goes.")
    ] = options.MATRIX,
    report: Annotated[Path, typer.Option(help="Where the page goes.")] = Path("build/report"),
    markdown: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the tables there as Markdown too.")
    ] = None,
    store: options.StoreDir = None,
    json: options.Json = False,
) -> None:
    """Which versions of fork, upstream and plugin load, compile and are identical, in pairs.

    The cases are a few probes of the project's own corpus, or all of another, unless named.
    Versions are the newest published ones unless named; an empty text leaves a side out.
    Environments are made as needed, and removed again where the disk is short; what is known
    already is not measured again.
    """
    cases = options.open_corpus(corpus).select(patterns or (() if corpus else PROBES))
    pins = _pins(dict(zip(ROLES, (fork, plugin, upstream), strict=True)))
    with Console(stderr=True).status("...") as status:
        found = survey.measure(
            [("fork", version) for version in pins["fork"]],
            [(role, version) for role in ("plugin", "upstream") for version in pins[role]],
            cases,
            controls(lane, {"plugin": ensure("plugin")}),
            options.open_store(store),
            lambda words: status.update(f"{words} ..."),
            lambda sofar: matrices.save(sofar, out),
            command="tlx-equiv " + " ".join(sys.argv[1:]),
            fresh=fresh,
        )
    page = write_matrix(found, report, markdown)
    if json:
        options.print_json(found)
        return
    _print(found)
    print(f"matrix: {out}; page: {page}")


def _pins(given: dict[str, str | None]) -> dict[str, list[str]]:
    """The versions of each role: those given, else the newest published.

    Of upstream, none that is older than every version of the other sides: it loads no plugins.
    """
    pins = {role: _versions(role, text) for role, text in given.items()}
    if given["upstream"] is None:
        others = [order(version) for role in ROLES[:2] for version in pins[role]]
        pins["upstream"] = [
            v for v in pins["upstream"] if order(v) >= min(others, default=order(v))
        ]
    return pins


def _versions(role: str, text: str | None) -> list[str]:
    every = functools.partial(published, subject(declared().role(role)))
    if text is None:
        return every()[-NEWEST:]
    parts = [part.strip() for part in text.split(",") if part.strip()]
    return [version for part in parts for version in (every() if part == ALL else [part])]


def _print(found: Matrix) -> None:
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 140)
    references, candidates = found.usable()
    table = Table(
        title=f"{len(found.cases)} probes, each with the deepest stage at which a pair is equal",
        caption="B binary, A assembly, L llir, G ttgir, T ttir, N nowhere; small: after rules;"
        " E one side fails, R both fail alike",
        box=None,
    )
    table.add_column("", no_wrap=True)
    for _, pin in references:
        table.add_column(pin.name, no_wrap=True)
    for column, pin in candidates:
        cells = [found.pair(row, column) for row, _ in references]
        table.add_row(pin.name, *(_letters(cell) for cell in cells))
    console.print(table)
    for pin in (*found.references, *found.candidates):
        if pin.problem:
            console.print(Text(f"{pin.name}: {pin.problem}", "red"), soft_wrap=True)


def _letters(cell: Cell | None) -> Text:
    depths = [probe_depth(probe) for probe in cell.probes] if cell else []
    return Text.assemble(*((d.letter, _STYLES.get(d.level, "cyan")) for d in depths))
