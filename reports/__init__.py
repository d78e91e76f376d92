"""Reports: renders a run as HTML pages that work from disk, and as Markdown for CI."""

from __future__ import annotations

from pathlib import Path

from harness.model import Run
from harness.store import Store
from reports import html, markdown
from reports.files import Folder, export_artifacts
from reports.view import build

__all__ = ["write_report"]


def write_report(run: Run, store: Store, out: Path) -> Path:
    """Write ``index.html``, a page per kernel, the artifacts that differ, and ``summary.md``.

    Where the run measured coverage, ``coverage.html`` too.
    Returns the path of the index. Each file appears whole or not at all, the index last.
    Raises HarnessError if ``out`` cannot be written.
    """
    folder = Folder(out)
    view = build(run)
    links = export_artifacts(view, store, folder)
    for kernel in view.kernels:
        folder.write(kernel.page, html.kernel_page(view, kernel, links))
    if view.names:
        folder.write("coverage.html", html.coverage_page(view))
    folder.write("summary.md", markdown.summary(view))
    return folder.write("index.html", html.index_page(view))
