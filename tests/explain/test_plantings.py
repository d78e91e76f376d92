"""Planted pass changes are found, and the pass that was changed is the one named.

A sample of what `make selfcheck` plants: see harness/selfcheck/pipelines.py.
"""

import datetime
from pathlib import Path

import msgspec
import pytest

from harness import corpus, ledger, toolchains
from harness.model import Case, Verdict
from harness.planting import ACTIONS
from harness.selfcheck import misses, pipelines
from harness.session import Session
from harness.store import Store

KERNELS = ("baseline/matmul/*@cuda:90", "async_copy/ring_copy/fp32-3x128@cuda:90")


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    found = corpus.load([corpus.DEFAULT])
    return [found.select([pattern])[0] for pattern in KERNELS]


def test_the_planted_pass_is_named(
    plugin: toolchains.Toolchain, cases: list[Case], tmp_path: Path
) -> None:
    store = Store(tmp_path / "store")
    found = list(pipelines.plant_pipelines(plugin, cases, store, tmp_path, most=1))
    assert len(found) >= 5
    assert {finding.kind for finding in found} == {f"pass: {kind}" for kind in ACTIONS}
    assert not misses(found)


def test_a_toolchain_against_itself_is_identical(
    plugin: toolchains.Toolchain, cases: list[Case], tmp_path: Path
) -> None:
    again = msgspec.structs.replace(plugin, role="plugin-again")
    controls = toolchains.controls("controlled", {"plugin": plugin})
    nothing = ledger.Ledger((), datetime.date(2026, 12, 1))
    with Session(plugin, again, Store(tmp_path), nothing, "controlled", controls) as session:
        for case in cases:
            result = session.evaluate(case)
            assert {c.verdict for c in result.comparisons} == {Verdict.IDENTICAL}
            assert result.explanation is None
