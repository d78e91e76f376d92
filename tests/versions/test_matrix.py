"""The version matrix on the pinned toolchains, and one plugin version that is not pinned."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from harness import corpus as corpora
from harness import matrix, survey, toolchains
from harness.cli.app import app
from harness.cli.matrix import PROBES
from harness.errors import HarnessError
from harness.matrix import Matrix
from harness.toolchains import Controls


@pytest.fixture(scope="module")
def controls() -> Controls:
    return toolchains.controls("controlled", {"plugin": toolchains.ensure("plugin")})


@pytest.fixture(scope="module")
def measured(pinned, older, probes, controls, store) -> tuple[Matrix, list[Matrix]]:
    saved: list[Matrix] = []
    found = survey.measure(
        [("fork", pinned["fork"]), ("fork", "0.0.0")],
        [("plugin", pinned["plugin"]), ("plugin", older), ("upstream", pinned["upstream"])],
        probes,
        controls,
        store,
        lambda words: None,
        saved.append,
    )
    return found, saved


def test_every_usable_pair_is_compared_and_a_version_that_is_not_there_says_so(measured, probes):
    found, saved = measured
    assert [pin.problem == "" for pin in found.references] == [True, False]
    assert "0.0.0" in found.references[1].problem
    assert {(cell.reference, cell.candidate) for cell in found.cells} == {(0, 0), (0, 1), (0, 2)}
    plugin, older, upstream = found.cells
    assert plugin.probes[0].outcome == "OK"
    assert plugin.probes[0].verdicts.keys() == {"ttir", "ttgir", "llir", "ptx", "cubin"}
    assert older.probes[0].verdicts.keys() == plugin.probes[0].verdicts.keys()
    assert upstream.probes[0].verdicts == {}
    case = probes[0].id  # which uses TLX
    assert [pin.probes[case].outcome for pin in found.candidates] == ["OK", "OK", "UNSUPPORTED"]
    assert "tlx" in found.candidates[2].probes[case].failure
    assert len(saved) == 5  # after each pin, so that a kill loses nothing
    assert saved[-1] == found


def test_what_is_known_needs_no_environment(
    measured, pinned, older, probes, controls, store, tmp_path, monkeypatch
):
    monkeypatch.setenv("TLX_EQUIV_CACHE", str(tmp_path))
    whole, _ = measured
    again = survey.measure(
        [("fork", pinned["fork"])],
        [("plugin", older)],
        probes,
        controls,
        store,
        lambda words: None,
        lambda sofar: None,
    )
    assert again.references + again.candidates == (whole.references[0], whole.candidates[1])
    assert again.cells[0].probes == whole.cells[1].probes
    assert not any(tmp_path.iterdir())


def test_a_kernel_that_was_changed_is_compiled_again(measured, pinned, probes, controls, store):
    assert measured
    changed = msgspec.structs.replace(probes[0], source=probes[0].source + "\nnonsense(\n")
    found = survey.measure(
        [],
        [("plugin", pinned["plugin"])],
        [changed],
        controls,
        store,
        lambda words: None,
        lambda sofar: None,
    )
    assert found.candidates[0].probes[changed.id].outcome == "ERROR"


def test_the_command_keeps_a_record_and_writes_page_and_tables(
    measured, pinned, kernels, store, tmp_path
):
    whole, _ = measured
    arguments = ["--fork", pinned["fork"], "--plugin", pinned["plugin"], "--upstream", ""]
    arguments += ["--corpus", str(kernels), "--store", str(store.root), "--json"]
    arguments += ["--out", str(tmp_path / "m.json"), "--report", str(tmp_path / "report")]
    arguments += ["--markdown", str(tmp_path / "m.md"), "good/*@cuda:90"]
    result = CliRunner().invoke(app, ["matrix", *arguments], catch_exceptions=False)
    assert result.exit_code == 0
    record = matrix.load(tmp_path / "m.json")
    assert record is not None
    assert record == msgspec.json.decode(result.stdout, type=Matrix)
    assert record.cells == whole.cells[:1]
    assert (
        f"<td>{record.candidates[0].triton}</td>"
        in (tmp_path / "report" / "matrix.html").read_text()
    )
    assert f"| plugin {pinned['plugin']} |" in (tmp_path / "m.md").read_text()


def test_each_probe_is_one_case_of_the_corpus():
    found = corpora.load([corpora.DEFAULT]).select(PROBES)
    assert [case.id for case in found] == sorted(PROBES, key=[c.id for c in found].index)
    assert len(found) == len(PROBES)


def test_a_malformed_record_is_named(tmp_path: Path):
    path = tmp_path / "matrix.json"
    assert matrix.load(path) is None
    path.write_text('{"started": 1}')
    with pytest.raises(HarnessError, match="no matrix") as caught:
        matrix.load(path)
    assert caught.value.thing == str(path)


def test_a_version_that_is_none_is_one_clear_error():
    error = CliRunner().invoke(app, ["matrix", "--plugin", "newest"]).exception
    assert isinstance(error, HarnessError)
    assert (error.thing, error.cause) == ("version 'newest'", "is no version")
