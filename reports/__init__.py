"""Reports: renders a run as HTML pages that work from disk, and as Markdown for CI."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from harness.matrix import Matrix
from harness.result import Run
from harness.store import Store
from harness.trend import Export
from reports import html, junit, markdown
from reports.files import Folder, export_artifacts
from reports.matrix import matrix_markdown, matrix_page, probe_depth
from reports.view import build

__all__ = ["Channel", "probe_depth", "write_matrix", "write_night", "write_report"]


class Channel(msgspec.Struct, frozen=True):
    """One run of a nightly job; what is unexpected in it fails if it is ``gating``."""

    name: str
    run: Run
    history: Export
    gating: bool


def write_report(
    run: Run,
    store: Store,
    out: Path,
    history: Export | None = None,
    matrix: Matrix | None = None,
) -> Path:
    """Write ``index.html``, a page per kernel, the artifacts that differ, and ``summary.md``.

    Where the run measured coverage, ``coverage.html`` too; with what ``history`` says of the
    run, the index begins with what changed, and there is ``trends.html``; with a version
    ``matrix`` there is ``matrix.html``.
    Returns the path of the index. Each file appears whole or not at all, the index last.
    Raises HarnessError if ``out`` cannot be written.
    """
    folder = Folder(out)
    view = build(run, history)
    links = export_artifacts(view, store, folder)
    for kernel in view.kernels:
        folder.write(kernel.page, html.kernel_page(view, kernel, links))
    if view.names:
        folder.write("coverage.html", html.coverage_page(view))
    if view.trends:
        folder.write("trends.html", html.trends_page(view, view.trends))
    if matrix:
        folder.write("matrix.html", matrix_page(matrix, in_report=True))
    folder.write("summary.md", markdown.summary(view))
    return folder.write("index.html", html.index_page(view, matrix is not None))


def write_night(channels: Sequence[Channel], warnings: Sequence[str], out: Path) -> None:
    """Write what CI takes from a nightly job: ``summary.md`` (for a job summary), ``junit.xml``
    and ``changes.json``. The first channel is the one that gates.

    Raises HarnessError if ``out`` cannot be written.
    """
    folder = Folder(out)
    folder.write("junit.xml", junit.junit([(c.name, c.run, c.gating) for c in channels]))
    changes = {"channels": [c.history.changes for c in channels], "warnings": warnings}
    folder.write("changes.json", msgspec.json.format(msgspec.json.encode(changes), indent=1))
    views = [build(channel.run, channel.history) for channel in channels]
    folder.write("summary.md", markdown.night(views, warnings))


def write_matrix(found: Matrix, out: Path, tables: Path | None = None) -> Path:
    """Write the version matrix as ``matrix.html``, where a report may be already, and as
    Markdown to the file ``tables``; returns the page's path.

    Raises HarnessError if they cannot be written.
    """
    folder = Folder(out)
    if tables is not None:
        Folder(tables.parent).write(tables.name, matrix_markdown(found))
    return folder.write("matrix.html", matrix_page(found, folder.has("index.html")))
