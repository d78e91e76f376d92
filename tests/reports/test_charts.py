"""The trace chart: honest heights, gaps where nothing was measured, names that can be read."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.explanation import AlignedPass, Birth
from reports.charts import LEFT, trace


def row(difference: int | None, side: str = "both", **more: object) -> AlignedPass:
    return AlignedPass(
        "make_ttgir",
        "some-pass",
        left=None if side == "plugin" else 0,
        right=None if side == "fork" else 0,
        difference=difference,
        **more,
    )


sizes = st.lists(st.none() | st.integers(0, 10**6), min_size=1, max_size=120)


@given(sizes)
def test_a_larger_difference_is_drawn_higher_and_none_is_not_drawn(differences):
    chart = trace([row(size) for size in differences], (), "c")
    heights = [(size, column.y) for size, column in zip(differences, chart.columns, strict=True)]
    measured = sorted((size, y) for size, y in heights if size is not None)
    assert all(y is None for size, y in heights if size is None)
    for (small, low), (large, high) in itertools.pairwise(measured):
        assert high <= low
        assert (small == large) <= (low == high)
    assert all(0 <= y <= chart.base for _, y in measured)
    assert all(y == chart.base for size, y in measured if size == 0)


@given(sizes, st.lists(st.tuples(st.integers(0, 119), st.text("abc-", max_size=60)), max_size=30))
def test_names_do_not_overlap_and_stay_on_the_chart(differences, born):
    births = [Birth(at, "m", name, "born", "graft") for at, name in born]
    chart = trace([row(size) for size in differences], births, "c")
    boxes = []
    for label in chart.labels:
        if label.text:
            long = 6.0 * len(label.text)
            low = label.x + 4 if label.anchor == "start" else label.x - 4 - long
            boxes.append((label.y, low, low + long))
            assert 0 < label.y < chart.top
    for first in range(len(boxes)):
        for second in range(first):
            (y, low, high), (other_y, other_low, other_high) = boxes[first], boxes[second]
            assert y != other_y or high <= other_low or other_high <= low
    inside = [birth for birth in births if birth.row < len(differences)]
    assert [label.number for label in chart.labels] == [births.index(b) + 1 for b in inside] or len(
        set(births)
    ) < len(births)
    assert chart.unnamed == sum(not label.text for label in chart.labels)


def test_a_gap_breaks_the_line_but_a_pass_of_one_side_does_not():
    one = trace([row(3), row(None, "fork"), row(5)], (), "c")
    assert len(one.lines) == 1
    two = trace([row(3), row(None), row(5)], (), "c")
    assert len(two.lines) == 2


def test_a_birth_is_what_its_column_leads_to():
    chart = trace([row(0), row(4, event="born")], [Birth(1, "m", "p", "born", "graft")], "case")
    assert [column.target for column in chart.columns] == ["case-p0", "case-b1"]
    assert "0 → 4 lines differ (born)" in chart.columns[1].title


@pytest.mark.parametrize(("most", "ticks"), [(0, [0, 1]), (7, [0, 1]), (355, [0, 1, 10, 100])])
def test_the_scale_names_powers_of_ten(most, ticks):
    assert [value for value, _ in trace([row(most)], (), "c").ticks] == ticks


def test_managers_are_bands_in_order():
    rows = [
        AlignedPass("make_ttir", "a", 0, 0),
        AlignedPass("make_ttir", "b", 1, 1),
        AlignedPass("make_llir", "c", 2, 2),
    ]
    chart = trace(rows, (), "c")
    assert [band.name for band in chart.bands] == ["make_ttir", "make_llir"]
    assert chart.bands[0].x == LEFT
    assert chart.bands[0].width == 2 * chart.bands[1].width


def test_a_chart_of_no_passes_draws():
    assert trace((), (), "c").columns == ()
