"""``docs/two_sides.py`` as a notebook with what its cells print; run it to write that."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbclient import NotebookClient

from harness.toolchains import ensure

DOCS = Path(__file__).resolve().parents[2] / "docs"
SCRIPT = DOCS / "two_sides.py"
NOTEBOOK = DOCS / "two-sides.ipynb"


def executed(notebook: Any) -> Any:
    """The notebook after all its cells have run, in the pinned environments."""
    for side in ("fork", "plugin"):
        os.environ[f"TWO_SIDES_{side.upper()}"] = str(ensure(side).interpreter.parents[1])
    NotebookClient(notebook, timeout=120, record_timing=False).execute(cwd=str(DOCS))
    return notebook


def written() -> Any:
    """The notebook that the script is, without outputs."""
    notebook = jupytext.read(SCRIPT)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook.metadata = {"kernelspec": kernel}
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"
    return notebook


def main() -> None:
    """Write the notebook."""
    notebook = executed(written())
    notebook.metadata.pop("language_info", None)  # which Python it was makes no difference
    nbformat.validate(notebook)
    NOTEBOOK.write_text(nbformat.writes(notebook, version=4))


if __name__ == "__main__":
    main()
