"""A recorded run of real kernels as a night, and nights made from it."""

import gzip
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from harness.night import PINNED, CaseFacts, Night, night_of
from harness.result import Run, Status

RECORDED = Path(__file__).parents[1] / "reports" / "data" / "run.json.gz"

Edit = Callable[..., Night]


@pytest.fixture(scope="session")
def run() -> Run:
    return msgspec.json.decode(gzip.decompress(RECORDED.read_bytes()), type=Run)


@pytest.fixture(scope="session")
def night(run: Run) -> Night:
    """The recorded run's night, of 1 December, as if every difference were expected."""
    results = tuple(
        msgspec.structs.replace(
            result,
            judgements=tuple(
                msgspec.structs.replace(
                    j, status=Status.PASS if j.status is Status.PASS else Status.EXPECTED
                )
                for j in result.judgements
            ),
        )
        for result in run.results
    )
    run = msgspec.structs.replace(run, results=results, started="2026-12-01T00:00:00+00:00")
    return night_of(run, PINNED, 0, ["--toolchain", "plugin=x y", "--corpus", "k"])


@pytest.fixture(scope="session")
def later(night: Night) -> Edit:
    """A night ``days`` later, with what ``edit`` makes of each of its cases' facts."""

    def make(
        days: int, edit: Callable[[CaseFacts], CaseFacts | None] = lambda f: f, **fields: object
    ) -> Night:
        cases = tuple(f for facts in night.cases if (f := edit(facts)) is not None)
        started = f"2026-12-{1 + days:02}T00:00:00+00:00"
        return msgspec.structs.replace(night, started=started, cases=cases, **fields)

    return make
