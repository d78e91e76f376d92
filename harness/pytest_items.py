"""What the pytest plugin collects: a test for each case and stage, and for each ledger entry.

All judging is the engine's: an equal stage passes, an expected divergence is xfail with its
reason, anything else fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from harness import corpus as corpora
from harness.cli import options
from harness.corpus import Corpus
from harness.errors import HarnessError
from harness.ledger import GPU_STAGES, Expectation
from harness.model import Case
from harness.parity import merge
from harness.parity.session import architectures
from harness.pytest_parity import Measurements, run_uid
from harness.result import CaseResult, Judgement, Status, reproduce
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
        self._measurements: Measurements | None = None

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
            opening = options.opening(
                options.open_store(Path(store) if store else None),
                self.config.getoption("--tlx-lane"),
                self.config.getoption("--tlx-toolchain"),
                explaining=False,
                sides=self.config.getoption("--tlx-sides"),
                plugins=self.config.getoption("--tlx-plugin"),
            )
            self._session = opening.session(options.open_ledger(self.corpus))
            problems = [finding.error() for finding in self._session.findings if finding.problem]
            void = "; ".join(map(str, problems)) or self._session.void
            if void:
                pytest.exit(f"void: {void}", returncode=2)
        return self._session

    def evaluate(self, case: Case) -> CaseResult:
        """The case's result; compiled by whichever process asks first."""
        if case.id not in self._results:
            self._results[case.id] = self.session.evaluate(case)
        return self._results[case.id]

    def measure(self, case: Case, among: Sequence[Case]) -> CaseResult:
        """The case's result with its parity, if it was launched: ``among`` all are at once."""
        if self._measurements is None:
            self._measurements = Measurements(
                self.corpus, self.session.store, run_uid(self.config), self.evaluate
            )
        report = self._measurements.report(among, self.session.identities)
        found = next((result for result in report.results if result.case == case.id), None)
        result = self.evaluate(case)
        if found is not None:
            parity = merge.parity_of(found, report.gpus.get(found.gpu))
            result = msgspec.structs.replace(result, parity=parity)
        return merge.judged(result, self.session.ledger, self.session.lane)

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
            if case.runnable:
                name = f"{case.spec}@{case.target}[parity]"
                yield ParityItem.from_parent(self, name=name, case=case, stage="parity")


class CaseItem(pytest.Item):
    """One stage of one case."""

    def __init__(self, *, case: Case, stage: str, **rest: Any) -> None:
        super().__init__(**rest)
        self.case = case
        self.stage = stage

    def runtest(self) -> None:
        """Evaluate the case (once per run) and turn its judgement into a test outcome."""
        state = self.config.stash[STATE]
        result = state.evaluate(self.case)
        found = [j for j in result.judgements if j.stage == self.stage]
        if not found:
            pytest.skip(f"not compared: the outcome is {result.outcome}")
        _settle(result, found[0], state.session.arguments)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *_: Any) -> Any:
        """The message alone for what the engine says; pytest's usual text for a defect."""
        return _words(excinfo) or super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where pytest says that the test is."""
        return self.path, None, f"{self.case.id} [{self.stage}]"


class ParityItem(CaseItem):
    """Both sides' binaries of one case, launched on a GPU: their bits and their speed."""

    def __init__(self, **rest: Any) -> None:
        super().__init__(**rest)
        self.add_marker(pytest.mark.gpu)

    def runtest(self) -> None:
        """Launch it with all others of this GPU's architecture, or skip and say why."""
        try:
            mine = architectures()
        except HarnessError as problem:
            pytest.skip(f"{problem.thing}: {problem.cause}")
        if str(self.case.target) not in mine:
            pytest.skip(f"compiled for {self.case.target}, the GPU is {', '.join(sorted(mine))}")
        items = [item for item in self.session.items if isinstance(item, ParityItem)]
        among = [item.case for item in items if str(item.case.target) in mine]
        state = self.config.stash[STATE]
        result = state.measure(self.case, among)
        if result.parity is None:
            pytest.skip(f"not launched: the outcome is {result.outcome}")
        order = list(Status)
        found = [j for j in result.judgements if j.stage in GPU_STAGES]
        worst = max(found, key=lambda judgement: order.index(judgement.status))
        _settle(result, worst, state.session.arguments)


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


def _settle(result: CaseResult, judgement: Judgement, arguments: Sequence[str]) -> None:
    """Turn a judgement into the outcome of the test that is running."""
    if judgement.status in (Status.EXPECTED, Status.REFUSED):
        pytest.xfail(f"{judgement.expectation or judgement.verdict}: {judgement.reason}")
    if judgement.status is not Status.PASS:
        raise Unexpected(failure_message(result, judgement, arguments))


def _words(excinfo: pytest.ExceptionInfo[BaseException]) -> str:
    known = isinstance(excinfo.value, (Unexpected, HarnessError))
    return str(excinfo.value) if known else ""


def failure_message(result: CaseResult, judgement: Judgement, arguments: Sequence[str]) -> str:
    """Verdict, why, the first differing lines or diagnostics, and how to reproduce: with the
    ``arguments`` that ``tlx-equiv run`` needs to open the same session."""
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
    if judgement.stage in GPU_STAGES and result.parity is not None:
        lines.append(result.parity.reason)
        if result.parity.speed is not None and result.parity.speed.compared:
            speed = result.parity.speed
            lines.append(f"{speed.ratio:.3f} times as long, [{speed.low:.3f}, {speed.high:.3f}]")
    if judgement.stage == "outcome":
        for role, compilation in result.compilations.items():
            if compilation.failure is not None:
                lines.append(f"{role}: {compilation.failure.message}")
    lines += [f"{c.role}: {c.message}" for c in result.checks if not c.passed][:4]
    lines.append(f"reproduce: {reproduce(result.case, arguments)}")
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
