"""The history file: what is recorded stays, once, whoever writes and in whatever order."""

import multiprocessing
import sqlite3
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.errors import HarnessError
from harness.history import MIGRATIONS, History
from harness.night import CANARY, PINNED, Night, night_of
from harness.result import Run

bounded = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def everything(history: History) -> dict[tuple[str, ...], list[Night]]:
    return {series: history.nights(series, most=1000) for series in history.series()}


def test_a_night_comes_back_as_it_was_and_only_once(night: Night, run: Run, tmp_path: Path):
    with History(tmp_path / "h.sqlite") as history:
        assert history.record(night)
        assert not history.record(night)
        again = msgspec.json.decode(msgspec.json.encode(run), type=Run)  # a run.json, read again
        assert history.record(night_of(run, PINNED, 1))
        assert not history.record(night_of(again, PINNED, 1))
        assert night in history.nights(night.series)
        assert night.id in [one.id for one in history.nights(night.series)]


def test_nights_are_of_one_series_before_a_time_and_in_order(night: Night, later, tmp_path: Path):
    others = [later(day) for day in (3, 1, 2)]
    with History(tmp_path / "h.sqlite") as history:
        for one in (*others, night, later(1, channel=CANARY), later(1, lane="shipped")):
            history.record(one)
        found = history.nights(night.series, before=later(3).started)
        assert [one.started[:10] for one in found] == ["2026-12-01", "2026-12-02", "2026-12-03"]
        assert history.nights(night.series, most=1) == [later(3)]
        assert len(history.series()) == 3


def test_the_record_with_a_gpus_results_counts(night: Night, run: Run, later, tmp_path: Path):
    """A run whose GPU results were joined later is another record of the same night."""
    without = later(
        0,
        lambda facts: msgspec.structs.replace(
            facts, stages=tuple(s for s in facts.stages if s.stage not in ("parity", "speed"))
        ),
    )
    launched = msgspec.structs.replace(
        without.cases[0],
        stages=(
            *without.cases[0].stages,
            msgspec.convert({"stage": "parity", "verdict": "X"}, type(without.cases[0].stages[0])),
        ),
    )
    joined = msgspec.structs.replace(without, cases=(launched, *without.cases[1:]))
    for order in ((without, joined), (joined, without)):
        with History(tmp_path / f"{order[0].id}.sqlite") as history:
            for one in order:
                history.record(one)
            assert history.nights(night.series) == [joined]


@bounded
@given(st.lists(st.integers(0, 8), max_size=6), st.lists(st.integers(0, 8), max_size=6))
def test_merging_is_idempotent_and_independent_of_order(later, tmp_path_factory, left, right):
    folder = tmp_path_factory.mktemp("merge")
    paths = {name: folder / f"{name}.sqlite" for name in ("left", "right", "one", "other")}
    small = {
        day: later(day, lambda facts: facts if "row_" in facts.case else None)
        for day in {*left, *right}
    }
    for name, days in (("left", left), ("right", right)):
        with History(paths[name]) as history:
            for day in days:
                history.record(small[day])
            if days:
                history.let_go([small[days[0]].id])
    with (
        History(paths["left"]) as a,
        History(paths["right"]) as b,
        History(paths["one"]) as one,
        History(paths["other"]) as other,
    ):
        assert one.merge(a) + one.merge(b) == len({*left, *right})
        assert one.merge(a) == one.merge(b) == 0
        other.merge(b)
        other.merge(a)
        assert everything(one) == everything(other)
        assert one.references() == other.references()


def _write(path: Path, nights: list[Night]) -> None:
    for night in nights:
        with History(path) as history:
            history.record(night)


def test_concurrent_writers_lose_nothing(later, tmp_path: Path):
    path = tmp_path / "h.sqlite"
    nights = [later(day) for day in range(12)]
    context = multiprocessing.get_context("fork")
    # Each night is written by two processes, and the file is made by whoever comes first.
    writers = [context.Process(target=_write, args=(path, nights[n % 3 :: 3])) for n in range(6)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * 6
    with History(path) as history:
        assert history.nights(nights[0].series) == nights


def test_views_answer_in_sql(night: Night, tmp_path: Path):
    path = tmp_path / "h.sqlite"
    with History(path) as history:
        history.record(night)
    database = sqlite3.connect(path)
    facts = next(f for f in night.cases if f.case.startswith("dots/pipelined_gemm"))
    stage = facts.stage("ptx")
    assert stage is not None
    found = database.execute(
        "SELECT verdict, fingerprint, candidate_fingerprint FROM verdicts"
        " WHERE case_id = ? AND stage = 'ptx'",
        [facts.case],
    ).fetchall()
    plugin = night.toolchains["plugin"].fingerprint
    assert found == [(stage.verdict, stage.fingerprint, plugin)]
    measured = database.execute(
        "SELECT seconds, registers, binary_bytes FROM measures"
        " WHERE case_id = ? AND role = 'plugin'",
        [facts.case],
    ).fetchall()
    side = facts.sides["plugin"]
    assert measured == [(side.seconds, side.registers, side.sizes["cubin"])]
    assert side.registers
    database.close()


def test_unchanged_cases_are_kept_once(night: Night, later, tmp_path: Path):
    path = tmp_path / "h.sqlite"
    with History(path) as history:
        for day in range(10):
            history.record(later(day))
    database = sqlite3.connect(path)
    (rows,) = database.execute("SELECT count(*) FROM facts").fetchone()
    assert rows == len(night.cases)
    database.close()


def test_a_file_of_a_later_version_or_no_database_is_refused(tmp_path: Path):
    path = tmp_path / "h.sqlite"
    with History(path):
        pass
    database = sqlite3.connect(path)
    assert database.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    database.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    database.close()
    with pytest.raises(HarnessError, match="made by a later tlx-equiv"):
        History(path)
    text = tmp_path / "text"
    text.write_text("no database, but a text that is long enough to be looked at" * 10)
    with pytest.raises(HarnessError, match="--history FILE"):
        History(text)
    with pytest.raises(HarnessError, match="--history FILE"):
        History(tmp_path)


def test_a_record_that_fails_leaves_nothing(night: Night, tmp_path: Path, monkeypatch):
    """Killed half-way, a night is not there at all."""
    with History(tmp_path / "h.sqlite") as history:
        real = msgspec.json.encode
        calls = iter(range(10**6))

        def encode(value: object) -> bytes:
            if next(calls) == 5:
                raise KeyboardInterrupt
            return real(value)

        monkeypatch.setattr("harness.history.msgspec.json.encode", encode)
        with pytest.raises(KeyboardInterrupt):
            history.record(night)
        monkeypatch.undo()
        assert history.series() == []
        assert history.record(night)
