"""Shards on the command line: run, carried to another machine, merged, looked at there."""

from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner, Result

from harness import night
from harness import run as engine
from harness.cli import options
from harness.cli.app import app
from harness.corpus import Corpus
from harness.errors import HarnessError
from harness.history import History
from harness.opening import Opening
from harness.result import Run
from harness.session import Session
from harness.store import Store


def tlx(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)))


def test_shards_of_two_machines_become_one_run_on_a_third(
    corpus: Corpus, session: Session, single, tmp_path: Path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    corpora = ("--corpus", corpus.roots[0])
    for shard in (1, 2):
        done = tlx(
            *("run", "utilities/thread_ids", *corpora, "--target", "cuda:90"),
            *("--store", session.store.root, "--with-artifacts"),
            *("--shard", f"{shard}/2", "--out", f"shard{shard}"),
        )
        assert done.exit_code == 0, done.output
        assert f"shard {shard} of 2" in done.stdout
    there = ("--store", "third")
    first = tlx("merge", "shard2", "--run", "all", *corpora, *there)
    assert first.exit_code == 2
    assert "BROKEN shard 1/2 is missing" in first.stdout
    done = tlx("merge", "all", "shard1/run.json", "--run", "all", *corpora, *there)
    assert done.exit_code == 0, done.output
    assert "2 cases in" in done.stdout
    assert "neither with their runs" not in done.stdout
    assert len(engine.load(tmp_path / "all").results) == 2
    diff = tlx("diff", "*/x-*", "--stage", "ttgir", "--run", "all", *there)
    assert diff.exit_code == 0, diff.output
    assert "identical" in diff.stdout or "equivalent" in diff.stdout or "---" in diff.stdout


def test_histories_join(single: Run, tmp_path: Path):
    """Nights of two machines, in either order and again."""
    nights = [
        night.night_of(msgspec.structs.replace(single, started=f"2026-12-0{day}"), "pinned", 0)
        for day in (1, 2)
    ]
    files = [tmp_path / f"{number}.sqlite" for number in range(2)]
    for file, one in zip(files, nights, strict=True):
        with History(file) as history:
            history.record(one)
    for order in (files, files[::-1]):
        into = tmp_path / f"{order[0].stem}-first" / "history.sqlite"
        for _ in range(2):
            done = tlx("merge", *order, "--history", into)
            assert done.exit_code == 0, done.output
        with History(into) as history:
            assert [found.id for found in history.nights(nights[0].series)] == [
                one.id for one in nights
            ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "--shard", "4/3"), "not of the form I/N"),
        (("run", "--costs", "nowhere"), "add --shard I/N"),
        (("run", "--shard", "1/2", "--costs", "nowhere"), "no such file"),
        (("merge", "run.json"), "no such file"),
        (("merge", "none.sqlite", "--history", "h.sqlite"), "no such file"),
    ],
)
def test_bad_usage_is_one_clear_error(
    tmp_path: Path, monkeypatch, arguments: tuple[str, ...], words: str
):
    monkeypatch.chdir(tmp_path)
    error = tlx(*arguments).exception
    assert isinstance(error, HarnessError)
    assert words in f"{error.cause} {error.way_out}"


def test_paths_hold_in_processes_that_run_elsewhere(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tree").mkdir()
    (tmp_path / "idea.py").touch()
    opened = options.opening(
        Store(Path("store")),
        "controlled",
        ["plugin=tree, triton-utlx==3.8.0.post15", "fork=/no/such/venv"],
        plugins=["idea.py"],
    )
    assert opened.store == str(tmp_path / "store")
    assert opened.plugins == (str(tmp_path / "idea.py"),)
    assert opened.overrides == {
        "plugin": f"{tmp_path / 'tree'},triton-utlx==3.8.0.post15",
        "fork": "/no/such/venv",
    }
    assert msgspec.json.decode(msgspec.json.encode(opened), type=Opening) == opened
