"""Bisection finds neighbours that differ, past versions without a verdict, in log steps."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from harness.bisect import bisect

verdicts = st.lists(st.sampled_from(["a", "b", "c", None]), max_size=40)


@given(verdicts)
def test_what_is_found_is_a_change_and_what_lies_between_gives_no_verdict(row: list[str | None]):
    asked: list[int] = []

    def verdict(at: int) -> str | None:
        asked.append(at)
        return row[at]

    found = bisect(len(row), verdict)
    judged = [value for value in row if value is not None]
    assert (found is None) == (not judged or judged[0] == judged[-1])
    assert len(asked) == len(set(asked))
    if found is not None:
        assert (row[found.before], row[found.after]) == (found.old, found.new)
        assert found.old == judged[0] != found.new
        assert [row[at] for at in found.skipped] == [None] * (found.after - found.before - 1)


@given(st.integers(2, 2000), st.data())
def test_a_single_change_is_found_in_log_steps_and_those_to_skip(count: int, data: st.DataObject):
    turn = data.draw(st.integers(1, count - 1))
    skips = data.draw(st.sets(st.integers(0, count - 1), max_size=30)) - {0, count - 1}
    judged = []

    def verdict(at: int) -> bool | None:
        if at in skips:
            return None
        judged.append(at)
        return at >= turn

    found = bisect(count, verdict)
    assert found is not None
    assert found.before == max(at for at in range(turn) if at not in skips)
    assert found.after == min(at for at in range(turn, count) if at not in skips)
    assert len(judged) <= 3 + math.log2(count)
