"""A corpus of cheap real kernels with a ledger, and one run over the whole of it."""

from __future__ import annotations

import datetime
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from harness import corpus as corpora
from harness import run as engine
from harness.corpus import Corpus
from harness.ledger import Expectation, Ledger
from harness.model import Case
from harness.opening import Opening
from harness.result import CaseResult, Part, Run
from harness.session import Session

sys.path.insert(0, str(Path(__file__).parent))

from outcomes import entry, ledger

KERNELS = (
    "negative/remote_wait",  # both sides refuse these
    "negative/narrow_async_copy",
    "negative/view_of_float_index",
    "negative/tmem_before_blackwell",
    "barriers/bulk_expect",  # the plugin refuses this
    "utilities/thread_ids",  # equal
    "async_copy/padded_sum",  # differs
)
TARGET = "cuda:90"
Execute = Callable[..., Run]


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Seven kernels, ten cases on TARGET."""
    root = tmp_path_factory.mktemp("scale") / "kernels"
    for name in KERNELS:
        shutil.copytree(corpora.DEFAULT / name, root / name)
    found = corpora.load([root])
    wanted = tuple(
        case
        for case in found.cases
        if str(case.target) == TARGET
        and case.spec != "fp16-fill0-3x512"  # one that differs will do
    )
    return msgspec.structs.replace(found, cases=wanted)


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """One session for all runs here; one store, also for other processes of this test run."""
    base = tmp_path_factory.getbasetemp()
    store = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "scale-store"
    with Opening(str(store)).session(ledger()) as made:
        yield made


@pytest.fixture(scope="session")
def execute(corpus: Corpus, session: Session) -> Execute:
    """Run cases of the corpus, judged by a ledger."""

    def run(cases: Sequence[Case], part: Part | None = None, by: Ledger | None = None) -> Run:
        session.ledger = by or ledger()
        return engine.execute(session, corpus, cases, 2, "command", "0", part=part)

    return run


@pytest.fixture(scope="session")
def unjudged(corpus: Corpus, execute: Execute) -> dict[str, CaseResult]:
    """Each case by an empty ledger: what the entries below are made from."""
    return {result.case.id: result for result in execute(corpus.cases).results}


@pytest.fixture(scope="session")
def expected(unjudged: dict[str, CaseResult]) -> tuple[Expectation, ...]:
    """Entries that are met by cases of different shards, stale, expired and unmatched."""
    refused = [r for r in unjudged.values() if r.case.kernel == "barriers/bulk_expect"]
    differing = [r for r in unjudged.values() if r.case.kernel == "async_copy/padded_sum"]
    met = tuple(sorted({result.outcome_fingerprint for result in refused}))
    stages: dict[str, tuple[str, ...]] = {}
    for result in differing:
        for comparison in result.comparisons:
            if comparison.fingerprint:
                known = stages.get(comparison.stage, ())
                stages[comparison.stage] = (*known, comparison.fingerprint)
    return (
        entry("met", ("barriers/bulk_expect",), {"outcome": met}),
        entry("differs", ("async_copy/padded_sum",), stages),
        entry("stale", ("utilities/thread_ids",), {"ptx": ("0123456789abcdef",)}),
        entry("expired", ("negative/remote_wait",), {}, datetime.date(2020, 1, 1)),
        entry("unmatched", ("no/such/kernel",), {"ptx": ("0123456789abcdef",)}),
    )


@pytest.fixture(scope="session")
def single(corpus: Corpus, execute: Execute, expected: tuple[Expectation, ...]) -> Run:
    """One run over the whole corpus."""
    return execute(corpus.cases, by=ledger(expected))
