"""Shards on the command line: run, carried to another machine, merged, looked at there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness import run as engine
from harness.corpus import Corpus
from harness.session import Session


def tlx(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "harness.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "COLUMNS": "200"},
        check=False,
    )


def test_shards_of_two_machines_become_one_run_on_a_third(
    corpus: Corpus, session: Session, single, tmp_path: Path
):
    corpora = ("--corpus", corpus.roots[0])
    for shard in (1, 2):
        done = tlx(
            *("run", "utilities/thread_ids", *corpora, "--target", "cuda:90"),
            *("--store", session.store.root, "--with-artifacts"),
            *("--shard", f"{shard}/2", "--out", f"shard{shard}"),
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        assert f"shard {shard} of 2" in done.stdout
    there = ("--store", "third")
    first = tlx("merge", "shard2", "--run", "all", *corpora, *there, cwd=tmp_path)
    assert first.returncode == 2
    assert "BROKEN shard 1/2 is missing" in first.stdout
    done = tlx("merge", "all", "shard1/run.json", "--run", "all", *corpora, *there, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 cases in" in done.stdout
    assert "neither with their runs" not in done.stdout
    assert len(engine.load(tmp_path / "all").results) == 2
    diff = tlx("diff", "*/x-*", "--stage", "ttgir", "--run", "all", *there, cwd=tmp_path)
    assert diff.returncode == 0, diff.stderr
    assert "identical" in diff.stdout or "equivalent" in diff.stdout or "---" in diff.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "--shard", "4/3"), "not of the form I/N"),
        (("run", "--costs", "nowhere"), "add --shard I/N"),
        (("run", "--shard", "1/2", "--costs", "nowhere"), "no such file"),
        (("merge", "run.json"), "no such file"),
    ],
)
def test_bad_usage_is_one_clear_error(tmp_path: Path, arguments: tuple[str, ...], words: str):
    done = tlx(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stdout + done.stderr
    assert done.stderr.count("error:") == 1
    assert words in done.stderr
