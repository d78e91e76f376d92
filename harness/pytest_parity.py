"""Parity tests: one process of a test run launches the bundle, the others read its report."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

import filelock
import pytest

from harness.corpus import Corpus
from harness.errors import HarnessError
from harness.model import Case, Outcome, ToolchainIdentity
from harness.parity import session
from harness.parity.build import write_bundle
from harness.parity.result import ParityReport, load_report
from harness.result import CaseResult
from harness.store import Store


class Measurements:
    """The parity report of one test run (``uid``), measured by whichever process asks first.

    It lies in the store's folder ``parity``. ``evaluate`` compiles a case, ``run_parity``
    launches a bundle.
    """

    def __init__(
        self,
        corpus: Corpus,
        store: Store,
        uid: str,
        evaluate: Callable[[Case], CaseResult],
        run_parity: Callable[[Path, Path], ParityReport] = session.run_parity,
    ) -> None:
        self._corpus = corpus
        self._store = store
        self._path = store.root / "parity" / f"{uid}.json"
        self._evaluate = evaluate
        self._run_parity = run_parity
        self._known: ParityReport | HarnessError | None = None

    def report(
        self, cases: Sequence[Case], toolchains: dict[str, ToolchainIdentity]
    ) -> ParityReport:
        """The report on ``cases`` (the same in every process); raises HarnessError as
        ``run_parity`` does, once it failed without trying again."""
        if self._known is None:
            try:
                self._known = self._shared(cases, toolchains)
            except HarnessError as problem:
                self._known = problem
        if isinstance(self._known, HarnessError):
            raise self._known
        return self._known

    def _shared(
        self, cases: Sequence[Case], toolchains: dict[str, ToolchainIdentity]
    ) -> ParityReport:
        self._path.parent.mkdir(exist_ok=True)
        with filelock.FileLock(self._path.with_suffix(".lock")):
            if self._path.exists():
                return load_report(self._path)
            bundle = self._path.with_suffix(".tar")
            compiled = [
                (case, spec, kernel, result.compilations)
                for case in cases
                for kernel, spec in [self._corpus.kernels[case.id]]
                for result in [self._evaluate(case)]
                if all(c.outcome is Outcome.OK for c in result.compilations.values())
            ]
            try:
                write_bundle(compiled, self._store, bundle, toolchains)
                return self._run_parity(bundle, self._path)
            finally:
                bundle.unlink(missing_ok=True)


def run_uid(config: pytest.Config) -> str:
    """What names this test run in all its processes."""
    worker: dict[str, str] = getattr(config, "workerinput", {})
    return worker.get("testrunuid") or uuid.uuid4().hex
