"""The notebook and the script in ``docs`` are one, run, and show what they say."""

import re
import subprocess
import sys

import nbformat
import pytest
from made import NOTEBOOK, SCRIPT, executed, written

from harness.toolchains import declared


def cells(notebook) -> list[tuple[str, str]]:
    return [(cell.cell_type, cell.source) for cell in notebook.cells]


def printed(notebook) -> str:
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert {output.output_type for output in outputs} == {"stream"}
    return "".join(output.text for output in outputs)


@pytest.fixture(scope="module")
def notebook():
    return nbformat.read(NOTEBOOK, as_version=4)


def test_the_notebook_is_the_script(notebook):
    assert cells(notebook) == cells(written()), "write it again: make notebook"


def test_the_notebook_runs_and_prints_what_it_shows(notebook, monkeypatch):
    for side in ("FORK", "PLUGIN"):
        monkeypatch.setenv(f"TWO_SIDES_{side}", "")  # set by executed, put back afterwards
    shown = printed(notebook)
    assert printed(executed(notebook)) == shown
    assert "mapped before import triton: nothing" in shown
    assert "libtriton.so, libutlx.so" in shown
    assert re.search(r"^cubin +identical$", shown, re.MULTILINE)
    assert re.search(r"^ttgir-plain +differs$", shown, re.MULTILINE)


def test_it_installs_what_is_pinned():
    pins = [
        pin.split()[0] for role in ("fork", "plugin") for pin in declared().role(role).pins.values()
    ]
    assert re.findall(r'"([a-z-]+==[^"]+)"', SCRIPT.read_text()) == pins


def test_the_script_says_when_a_side_cannot_compile(tmp_path):
    """A Python without triton in place of the fork."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    done = subprocess.run(
        [sys.executable, SCRIPT],
        env={"TWO_SIDES_FORK": str(tmp_path), "TWO_SIDES_PLUGIN": str(tmp_path), "PATH": "/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "fork does not compile it" in done.stderr
    assert "No module named 'triton'" in done.stderr
