"""A Dask cluster gives what one machine gives, also when a worker is killed in mid-run."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psutil
import pytest
from outcomes import verdicts

import harness
from harness import cluster
from harness import run as engine
from harness.corpus import Corpus
from harness.errors import HarnessError
from harness.opening import Opening
from harness.result import CaseResult
from harness.revision import revision
from harness.session import Session

PATTERNS = ("negative", "barriers", "utilities")


class Dask:
    """A scheduler in a process of its own, and workers that can be added and killed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "scheduler.json"
        self.processes: list[subprocess.Popen[bytes]] = []
        self._start("scheduler", "--host", "127.0.0.1", "--port", "0")
        # Dask writes the file in place: it exists before it is whole.
        self._wait(lambda: self.file.exists() and self.file.read_text().rstrip().endswith("}"))
        self.address = json.loads(self.file.read_text())["address"]

    def worker(self) -> psutil.Process:
        name = f"worker{len(self.processes)}"
        local = ("--local-directory", str(self.folder / name), "--name", name)
        return psutil.Process(self._start("worker", "--nthreads", "1", "--no-nanny", *local).pid)

    def close(self) -> None:
        for process in reversed(self.processes):
            process.terminate()
            process.wait(20)

    def _start(self, kind: str, *options: str) -> subprocess.Popen[bytes]:
        module = f"distributed.cli.dask_{kind}"
        common = ("--scheduler-file", str(self.file), "--no-dashboard")
        with open(self.folder / f"{kind}.log", "ab") as log:
            command = [sys.executable, "-m", module, *common, *options]
            self.processes.append(subprocess.Popen(command, stdout=log, stderr=log))
        return self.processes[-1]

    @staticmethod
    def _wait(ready) -> None:
        end = time.monotonic() + 60
        while not ready():
            assert time.monotonic() < end
            time.sleep(0.02)


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dask]:
    made = Dask(tmp_path_factory.mktemp("dask"))
    yield made
    made.close()


def compiling(worker: psutil.Process) -> bool:
    """Whether a toolchain's process below this worker has a child: a case at work."""
    try:
        return any(child.children() for child in worker.children())
    except psutil.NoSuchProcess:
        return False


def test_no_worker_is_one_clear_error(dask: Dask, corpus: Corpus, session):
    opening = Opening(str(session.store.root))
    with pytest.raises(HarnessError, match="has had no worker for"):
        cluster.Cluster(dask.address, opening, session, patience=0.5).evaluate_all(
            corpus.cases[:2], lambda case, found: None
        )


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense"])
def test_no_scheduler_is_one_clear_error(address: str, session: Session, monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT", 0.3)
    opening = Opening(str(session.store.root))
    with pytest.raises(HarnessError, match="no Dask scheduler answers there"):
        cluster.Cluster(address, opening, session).evaluate_all([], lambda *_: None)


def test_a_killed_worker_costs_nothing(
    dask: Dask, corpus: Corpus, unjudged: dict[str, CaseResult], tmp_path: Path
):
    victim, _ = dask.worker(), dask.worker()
    store = tmp_path / "store"
    arguments = [*PATTERNS, "--corpus", str(corpus.roots[0]), "--target", "cuda:90"]
    arguments += ["--store", str(store), "--out", str(tmp_path), "--scheduler", dask.address]
    run = subprocess.Popen(
        [sys.executable, "-m", "harness.cli", "run", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    finished = store / "manifests" / "compile"
    while not (compiling(victim) and len(list(finished.glob("*.json"))) > 2):
        assert run.poll() is None, run.communicate()[0]
        time.sleep(0.01)
    victim.kill()
    before = {path: path.stat().st_ino for path in finished.glob("*.json")}
    output, _ = run.communicate(timeout=300)
    assert run.returncode == 1, output

    record = engine.load(tmp_path)
    assert record.broken == ()
    found = verdicts(record)["cases"]
    same = {key: unjudged[key] for key in found}
    alone = msgspec.structs.replace(record, results=tuple(same.values()))
    assert len(found) == 9
    assert found == verdicts(alone)["cases"]
    # What had been compiled before was not compiled again: the files are the same.
    assert before == {path: path.stat().st_ino for path in before}
    assert len(list(finished.glob("*.json"))) == 2 * len(found)
    # The sessions of the workers ended with the run.
    deadline = time.monotonic() + 20
    survivor = psutil.Process(dask.processes[-1].pid)
    while survivor.children() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert survivor.children() == []


def test_a_lost_scheduler_is_one_clear_error(
    dask: Dask, corpus: Corpus, session: Session, monkeypatch
):
    """And what was evaluated before is told, and stored."""
    monkeypatch.setattr(cluster, "CONNECT", 1.0)
    dask.worker()
    told = []

    def done(case, found) -> None:
        told.append(found)
        dask.processes[0].kill()

    opening = Opening(str(session.store.root))
    with pytest.raises(HarnessError, match="its scheduler was lost"):
        cluster.Cluster(dask.address, opening, session, patience=2.0).evaluate_all(
            corpus.cases, done
        )
    assert told
    assert all(isinstance(found, CaseResult) for found in told)


def test_a_worker_refuses_what_it_cannot_do_alike(corpus: Corpus, session: Session):
    opening = msgspec.json.encode(Opening("/nowhere"))
    case = corpus.cases[0]
    with pytest.raises(HarnessError, match="another version of tlx-equiv"):
        cluster._evaluate("t", opening, msgspec.json.encode(case), "0")
    moved = msgspec.structs.replace(case, folder="/nowhere")
    with pytest.raises(HarnessError, match="not there on that machine"):
        cluster._evaluate("t", opening, msgspec.json.encode(moved), revision(harness))


def test_without_dask_the_way_out_is_named(session: Session, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    opening = Opening(str(session.store.root))
    with pytest.raises(HarnessError, match="Dask is not installed here") as caught:
        cluster.Cluster("tcp://127.0.0.1:1", opening, session).evaluate_all([], lambda *_: None)
    assert "pip install" in caught.value.way_out
