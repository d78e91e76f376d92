"""Cases on an existing Dask cluster, through its standard futures.

Each worker process opens a session of its own from plain values and keeps it for the run.
Dask gives the cases of a worker that dies to another one; what had been compiled is in the
store, which all machines share, so nothing is lost and nothing done twice. Judging stays here:
the ledger has to meet every difference.
"""

from __future__ import annotations

import datetime
import logging
import queue
import threading
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

import harness
from harness import judge
from harness.batches import Done
from harness.compile import compile_key
from harness.errors import HarnessError
from harness.ledger import Ledger
from harness.model import Case
from harness.opening import Opening
from harness.result import CaseResult
from harness.revision import revision
from harness.session import Session

if TYPE_CHECKING:
    from distributed import Client

CONNECT = 15.0
PATIENCE = 120.0  # seconds without any worker before the run is given up
_AGAIN = "run again: what is in the store is not compiled again"


class Cluster:
    """A Dask cluster at ``address`` that evaluates cases as ``session`` here would.

    ``patience`` is how long to wait, in seconds, while the cluster has no worker.
    """

    def __init__(
        self, address: str, opening: Opening, session: Session, patience: float = PATIENCE
    ) -> None:
        self.address = address
        self.opening = opening
        self.session = session
        self.patience = patience

    def evaluate_all(self, cases: Sequence[Case], done: Done) -> list[CaseResult]:
        """As ``harness.batches``; raises HarnessError if the cluster cannot be used."""
        thing = f"--scheduler {self.address}"
        try:
            from distributed import Client
        except ImportError as error:
            way_out = "install it: pip install 'tlx-equiv[dask]'"
            raise HarnessError(thing, "Dask is not installed here", way_out) from error
        for name in ("distributed", "distributed.client"):  # our errors say it in one sentence
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            client = Client(self.address, timeout=CONNECT, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise HarnessError(
                thing,
                f"no Dask scheduler answers there: {error}",
                "name one that runs, such as tcp://host:8786; `dask scheduler` starts one",
            ) from error
        try:
            with client:
                return self._evaluated(client, cases, done)
        except OSError as error:
            raise HarnessError(thing, f"its scheduler was lost: {error}", _AGAIN) from error

    def _evaluated(self, client: Client, cases: Sequence[Case], done: Done) -> list[CaseResult]:
        results: dict[str, CaseResult] = {}
        given = msgspec.json.encode(self.opening)
        token = uuid.uuid4().hex  # names this run's sessions in the workers
        futures = {
            client.submit(
                _evaluate,
                token,
                given,
                msgspec.json.encode(case),
                revision(harness),
                key=f"tlx-equiv-{case.id}-{token}",
            ): case
            for case in cases
        }
        try:
            for future in self._finished(client, futures):
                found = self._result(futures[future], future)
                if isinstance(found, CaseResult):
                    results[found.case.id] = found
                done(futures[future], found)
        finally:
            client.cancel(list(futures))  # in vain for those that have ended
            client.run(_close, token, on_error="ignore")
        return [results[case.id] for case in cases if case.id in results]

    def _finished(self, client: Client, futures: dict[Any, Case]) -> Iterator[Any]:
        """The futures, each as it ends; gives up when there has been no worker for too long."""
        ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for future in futures:
            future.add_done_callback(ended.put)
        for _ in range(len(futures)):
            while True:
                try:
                    yield ended.get(timeout=self.patience)
                    break
                except queue.Empty:
                    if not client.scheduler_info()["workers"]:
                        raise HarnessError(
                            f"--scheduler {self.address}",
                            f"the cluster has had no worker for {self.patience:.0f} s",
                            f"start some with `dask worker {self.address}` and {_AGAIN}",
                        ) from None

    def _result(self, case: Case, future: Any) -> CaseResult | HarnessError:
        """What a worker found, judged by this session's ledger; or why that is no result."""
        from distributed import KilledWorker

        thing = f"dask cluster {self.address}"
        if future.cancelled():
            raise ConnectionError("it no longer knows the cases")
        error = future.exception()
        if isinstance(error, HarnessError):
            return error
        if isinstance(error, KilledWorker):
            return HarnessError(thing, f"every worker that took the case died: {error}", _AGAIN)
        if isinstance(error, ModuleNotFoundError):
            raise HarnessError(
                thing, f"its workers lack a module: {error}", "install tlx-equiv on its machines"
            )
        result = msgspec.json.decode(future.result(), type=CaseResult)
        for role, compilation in result.compilations.items():
            fingerprint = self.session.identities[role].fingerprint
            if compilation.key != compile_key(case, fingerprint, self.session.controls):
                return HarnessError(
                    f"{thing}, {role}",
                    "a worker has another toolchain, other controls or other helper modules"
                    " beside kernel.py than this machine",
                    "give all machines the same pins and the same corpus",
                )
            kept = self.session.store
            if not all(kept.has(artifact.sha256) for artifact in compilation.artifacts.values()):
                return HarnessError(
                    f"{thing}, store {self.opening.store}",
                    "what a worker stored there is not there on this machine",
                    "name a folder that all machines share with --store DIR",
                )
        return judge.rejudge(result, self.session.ledger, self.session.lane)


_sessions: dict[str, Session] = {}
_lock = threading.Lock()


def _evaluate(token: str, opening: bytes, case: bytes, version: str) -> bytes:
    """In a Dask worker: one case in this process's session, as JSON; not judged yet."""
    if version != revision(harness):
        raise HarnessError(
            "dask worker", "has another version of tlx-equiv", "install the same on all machines"
        )
    wanted = msgspec.json.decode(case, type=Case)
    if not Path(wanted.folder).is_dir():
        raise HarnessError(
            f"dask worker, kernel folder {wanted.folder}",
            "not there on that machine",
            "put the corpus at the same path on all machines",
        )
    with _lock:
        if token not in _sessions:
            ledger = Ledger((), datetime.date.today())
            _sessions[token] = msgspec.json.decode(opening, type=Opening).session(ledger)
        session = _sessions[token]
        void = session.void
    if void:
        raise HarnessError("dask worker", f"void: {void}", "run `tlx-equiv toolchains verify`")
    return msgspec.json.encode(session.evaluate(wanted))


def _close(token: str) -> None:
    """In a Dask worker: end this run's session, if the process has one."""
    with _lock:
        session = _sessions.pop(token, None)
    if session is not None:
        session.close()
