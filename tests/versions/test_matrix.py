"""The version matrix on the pinned toolchains, and one plugin version that is not pinned."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from harness import corpus as corpora
from harness import matrix, survey, toolchains
from harness.cli.app import app
from harness.errors import HarnessError
from harness.matrix import Matrix
from harness.store import Store
from harness.toolchains import declared
from harness.toolchains.published import subject
from reports import write_matrix

OLDER = "3.8.0.post15"


def pinned(role: str) -> str:
    declaration = declared().role(role)
    name = subject(declaration)
    return declaration.pins[name].partition("==")[2].split()[0]


@pytest.fixture(scope="module")
def measured(tmp_path_factory) -> tuple[Matrix, list[Matrix]]:
    from harness.template import write_template

    folder = tmp_path_factory.mktemp("matrix")
    write_template(folder / "kernels", "good")
    cases = corpora.load([folder / "kernels"]).select((), ("cuda:90",))
    saved: list[Matrix] = []
    found = survey.measure(
        [("fork", pinned("fork")), ("fork", "0.0.0")],
        [("plugin", pinned("plugin")), ("plugin", OLDER), ("upstream", pinned("upstream"))],
        cases,
        toolchains.controls("controlled", {"plugin": toolchains.ensure("plugin")}),
        Store(folder / "store"),
        [],
        lambda words: None,
        saved.append,
    )
    return found, saved


def test_every_usable_pair_is_compared_and_a_version_that_is_not_there_says_so(measured):
    found, saved = measured
    assert [pin.problem == "" for pin in found.references] == [True, False]
    assert "0.0.0" in found.references[1].problem
    assert {(cell.reference, cell.candidate) for cell in found.cells} == {(0, 0), (0, 1), (0, 2)}
    plugin, older, upstream = found.cells
    assert plugin.probes[0].outcome == "OK"
    assert plugin.probes[0].verdicts.keys() == {"ttir", "ttgir", "llir", "ptx", "cubin"}
    assert older.probes[0].level == plugin.probes[0].level
    assert upstream.probes[0].level == "fails"  # the kernel uses TLX
    assert len(saved) == 5  # after each pin, so that a kill loses nothing
    assert saved[-1] == found


def test_the_page_and_the_table_show_pairs_and_reasons(measured, tmp_path: Path):
    found, _ = measured
    page = write_matrix(found, tmp_path).read_text()
    table = (tmp_path / "matrix.md").read_text()
    assert page.count('scope="row"') == 3  # two rows of pairs, one version that cannot be used
    assert "fork 0.0.0" in page
    assert "http" not in page.replace("http-equiv", "")
    hostile = msgspec.structs.replace(
        found,
        references=(msgspec.structs.replace(found.references[0], version="<script>x"),),
        cells=(),
    )
    assert "<script>x" not in write_matrix(hostile, tmp_path).read_text()
    assert "| plugin 3" in table
    assert "fork 0.0.0" in table


def test_a_malformed_matrix_is_named(tmp_path: Path):
    path = tmp_path / matrix.FILE
    assert matrix.load(path) is None
    path.write_text('{"started": 1}')
    with pytest.raises(HarnessError, match="no matrix") as caught:
        matrix.load(path)
    assert caught.value.thing == str(path)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no/such/case@cuda:90", "--over", "plugin"], "matches none"),
        (["async_copy/ring_copy/fp32-3x128@cuda:90", "--over", "compiler"], "no such role"),
        (
            ["async_copy/ring_copy/fp32-3x128@cuda:90", "--over", "plugin", "--from", "0.1"],
            "not published",
        ),
    ],
)
def test_bad_input_to_bisect_is_one_clear_error(arguments: list[str], words: str):
    error = CliRunner().invoke(app, ["bisect", *arguments]).exception
    assert isinstance(error, HarnessError)
    assert words in error.cause
