"""What the pytest plugin collects: a test for each case and stage, and for each ledger entry.

All judging is the engine's: an equal stage passes, an expected divergence is xfail with its
reason, anything else fails.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from harness import corpus as corpora
from harness.cli import options
from harness.cli.inspect import reproduce
from harness.corpus import Corpus
from harness.errors import HarnessError
from harness.ledger import Expectation
from harness.model import Case, CaseResult, Judgement, Status
from harness.session import Session

STATE = pytest.StashKey["State"]()


class Unexpected(Exception):
    """A judgement that fails a test; carries its whole message."""


class State:
    """What one pytest process shares between its tests: corpora, a session, results."""

    def __init__(self, config: pytest.Config, roots: tuple[Path, ...]) -> None:
        self.roots = roots
        self.config = config
        self._corpus: Corpus | None = None
        self._session: Session | None = None
        self._results: dict[str, CaseResult] = {}

    @property
    def corpus(self) -> Corpus:
        """The corpora, read on first use."""
        if self._corpus is None:
            self._corpus = corpora.load(self.roots)
        return self._corpus

    @property
    def session(self) -> Session:
        """The session, made on first use; ends the whole test run if it is void."""
        if self._session is None:
            store = self.config.getoption("--tlx-store")
            self._session = options.open_session(
                self.corpus,
                options.open_store(Path(store) if store else None),
                self.config.getoption("--tlx-lane"),
                self.config.getoption("--tlx-toolchain"),
            )
            if self._session.void:
                pytest.exit(f"void: {self._session.void}", returncode=2)
        return self._session

    def evaluate(self, case: Case) -> CaseResult:
        """The case's result; compiled by whichever process asks first."""
        if case.id not in self._results:
            self._results[case.id] = self.session.evaluate(case)
        return self._results[case.id]

    def close(self) -> None:
        """Stop the workers, if any were started."""
        if self._session is not None:
            self._session.close()


class CaseFile(pytest.File):
    """A ``case.py``: a test for every case and stage."""

    def collect(self) -> Iterable[pytest.Item]:
        """One item per case and stage, in the order of the ladder."""
        state = self.config.stash[STATE]
        folder = self.path.parent
        mine = [case for case in state.corpus.cases if Path(case.folder) == folder]
        if not mine:
            for problem in state.corpus.problems:
                if str(folder) in problem.thing:
                    raise self.CollectError(str(problem))
        wanted = self.config.getoption("--tlx-target")
        for case in mine:
            if wanted and str(case.target) not in wanted:
                continue
            stages = ["outcome", *case.target.stages, "metadata"]
            if any(folder.glob("*.check")):
                stages.append("check")
            for stage in stages:
                name = f"{case.spec}@{case.target}[{stage}]"
                yield CaseItem.from_parent(self, name=name, case=case, stage=stage)


class CaseItem(pytest.Item):
    """One stage of one case."""

    def __init__(self, *, case: Case, stage: str, **rest: Any) -> None:
        super().__init__(**rest)
        self.case = case
        self.stage = stage

    def runtest(self) -> None:
        """Evaluate the case (once per run) and turn its judgement into a test outcome."""
        result = self.config.stash[STATE].evaluate(self.case)
        found = [j for j in result.judgements if j.stage == self.stage]
        if not found:
            pytest.skip(f"not compared: the outcome is {result.outcome}")
        judgement = found[0]
        if judgement.status in (Status.EXPECTED, Status.REFUSED):
            pytest.xfail(f"{judgement.expectation or judgement.verdict}: {judgement.reason}")
        if judgement.status is not Status.PASS:
            raise Unexpected(failure_message(result, judgement))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *_: Any) -> Any:
        """The message alone for what the engine says; pytest's usual text for a defect."""
        return _words(excinfo) or super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where pytest says that the test is."""
        return self.path, None, f"{self.case.id} [{self.stage}]"


class LedgerFile(pytest.File):
    """An ``expected.toml``: a test for every entry."""

    def collect(self) -> Iterable[pytest.Item]:
        """One item per expectation."""
        try:
            ledger = options.open_ledger(self.config.stash[STATE].corpus)
        except HarnessError as problem:
            raise self.CollectError(str(problem)) from problem
        for entry in ledger.expectations:
            yield LedgerItem.from_parent(self, name=entry.id, entry=entry)


class LedgerItem(pytest.Item):
    """One expectation: not expired, and each of its fingerprints still shown by some case."""

    def __init__(self, *, entry: Expectation, **rest: Any) -> None:
        super().__init__(**rest)
        self.entry = entry

    def runtest(self) -> None:
        """Evaluate every case that the entry speaks of, then ask the ledger."""
        state = self.config.stash[STATE]
        everything = [case.id for case in state.corpus.cases]
        mine = [
            case
            for case in state.corpus.cases
            if any(corpora.matches(case.id, pattern) for pattern in self.entry.cases)
        ]
        for case in mine:
            state.evaluate(case)
        session = state.session
        problems = session.ledger.problems([c.id for c in mine], everything, session.lane)
        for problem in problems:
            if problem.expectation == self.entry.id:
                raise Unexpected(f"{problem.expectation}: {problem.kind}: {problem.message}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *_: Any) -> Any:
        """As for a case."""
        return _words(excinfo) or super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where pytest says that the test is."""
        return self.path, None, f"expectation {self.entry.id}"


def _words(excinfo: pytest.ExceptionInfo[BaseException]) -> str:
    known = isinstance(excinfo.value, (Unexpected, HarnessError))
    return str(excinfo.value) if known else ""


def failure_message(result: CaseResult, judgement: Judgement) -> str:
    """Verdict, why, the first differing lines or diagnostics, and how to reproduce."""
    lines = [f"{result.case.id} [{judgement.stage}]: {judgement.verdict}", judgement.reason]
    for comparison in result.comparisons:
        if comparison.stage != judgement.stage:
            continue
        lines.append(comparison.note)
        for hunk in comparison.hunks[:3]:
            lines.append(f"@@ {hunk.region}")
            lines += [f"- {line}" for line in hunk.left[:6]]
            lines += [f"+ {line}" for line in hunk.right[:6]]
        if comparison.hunks_total > 3:
            lines.append(f"... {comparison.hunks_total - 3} more differences")
    if judgement.stage == "outcome":
        for role, compilation in result.compilations.items():
            if compilation.failure is not None:
                lines.append(f"{role}: {compilation.failure.message}")
    lines += [f"{c.role}: {c.message}" for c in result.checks if not c.passed][:4]
    lines.append(f"reproduce: {reproduce(result.case)}")
    return "\n".join(line for line in lines if line)


def collect(
    file_path: Path, parent: pytest.Collector, roots: tuple[Path, ...]
) -> pytest.File | None:
    """The collector for a file below a corpus root, or None if it is neither kind."""
    if STATE not in parent.config.stash:
        parent.config.stash[STATE] = State(parent.config, roots)
    if file_path.name == "case.py":
        return CaseFile.from_parent(parent, path=file_path)
    if file_path.name == corpora.LEDGER:
        return LedgerFile.from_parent(parent, path=file_path)
    return None


def close(config: pytest.Config) -> None:
    """Stop the workers of this process, if any were started."""
    if STATE in config.stash:
        config.stash[STATE].close()
