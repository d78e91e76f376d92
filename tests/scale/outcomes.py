"""Ledgers, and what two runs must have in common to be called the same."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from harness import ledger as ledgers
from harness.ledger import Expectation, Ledger
from harness.result import CaseResult, Run


def ledger(entries: Sequence[Expectation] = ()) -> Ledger:
    """A ledger that has met nothing yet."""
    return ledgers.Ledger(entries, datetime.date(2026, 12, 1))


def verdicts(run: Run) -> dict[str, object]:
    """All that a run says, apart from when, where and how long."""
    return {
        "cases": {result.case.id: _verdict(result) for result in run.results},
        "ledger": sorted(map(repr, run.ledger_problems)),
        "broken": sorted(run.broken),
        "void": run.void,
        "coverage": run.coverage,
        "toolchains": {role: t.fingerprint for role, t in run.toolchains.items()},
        "controls": run.controls,
    }


def _verdict(result: CaseResult) -> object:
    compiled = {
        role: (side.key, side.outcome, {k: v for k, v in side.artifacts.items() if k != "stderr"})
        for role, side in result.compilations.items()
    }
    return (
        result.outcome,
        result.outcome_fingerprint,
        result.comparisons,
        result.judgements,
        result.checks,
        result.rechecked,
        compiled,
        result.explanation,
    )


def entry(
    name: str,
    cases: tuple[str, ...],
    fingerprints: dict[str, tuple[str, ...]],
    expires: datetime.date = datetime.date(2099, 1, 1),
) -> Expectation:
    """A ledger entry."""
    return Expectation(
        id=name,
        cases=cases,
        reason="measured",
        link="https://example.org",
        owner="us",
        expires=expires,
        attribution="base-drift",
        fingerprints=fingerprints,
    )
