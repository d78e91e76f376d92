"""Truth: bounds, overflow, exact integers, special values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.parity import formats, truth
from harness.parity.formats import find

NAN, INF = float("nan"), float("inf")


def _wrong(
    outputs: list[float], values: list[float], bounds: list[float], name: str, exact: bool = False
) -> tuple[int, int]:
    """(wrong, unjudged) of outputs held against a settled reference."""
    form = find(name)
    value, bound = truth.settle(np.array(values), np.array(bounds), form, exact=exact)
    found = truth.judge("y", "fork", formats.encode(np.array(outputs), form), value, bound, form)
    return found.wrong, found.unjudged


def test_the_bound_is_kept_and_a_little_more_is_not() -> None:
    assert _wrong([1.001, 0.999], [1.0, 1.0], [0.00101, 0.00101], "fp64") == (0, 0)
    assert _wrong([1.00103, 0.99897], [1.0, 1.0], [0.00101, 0.00101], "fp64") == (2, 0)


def test_classes_of_special_values_must_match() -> None:
    values = [NAN, INF, -INF, 1.0]
    assert _wrong(values, values, [NAN, INF, INF, 0.0], "fp16") == (0, 0)
    assert _wrong([1.0, -INF, NAN, NAN], values, [0.0] * 4, "fp16") == (4, 0)
    assert _wrong([INF], [1.0], [1e300], "fp64") == (1, 0)


def test_correct_rounding_is_always_right() -> None:
    """A case that forgot the rounding of its output, or of subnormals, is not held to it."""
    assert _wrong([0.333251953125], [1 / 3], [0.0], "fp16") == (0, 0)
    assert _wrong([0.0], [2.0**-160], [2.0**-184], "fp32") == (0, 0)
    assert _wrong([0.33349609375], [1 / 3], [0.0], "fp16") == (1, 0)  # the neighbour


def test_overflow() -> None:
    assert _wrong([INF, -INF], [7e4, -7e4], [1.0, 1.0], "fp16") == (0, 0)
    assert _wrong([65504.0], [7e4], [1.0], "fp16") == (1, 0)
    # The bound leaves open whether it overflows: not judged, and said so.
    assert _wrong([INF, 65504.0], [65510.0] * 2, [100.0] * 2, "fp16") == (0, 2)
    # fp8 may saturate or not.
    assert _wrong([448.0, NAN], [500.0] * 2, [1.0] * 2, "fp8e4nv") == (0, 2)
    # Integers may wrap.
    assert _wrong([0.0], [2.0**31], [0.0], "i32") == (0, 1)


def test_a_case_without_a_bound_is_not_judged() -> None:
    assert _wrong([5.0, 5.0, 1.0], [1.0, 1.0, 1.0], [NAN, INF, 0.0], "fp32") == (0, 2)


def test_small_integers_must_be_exact() -> None:
    """Within the bound, but not the integer: wrong where the arithmetic is exact."""
    assert _wrong([3.0, 8.5], [3.0, 8.0], [1.0, 1.0], "fp32", exact=False) == (0, 0)
    assert _wrong([3.0, 8.5], [3.0, 8.0], [1.0, 1.0], "fp32", exact=True) == (1, 0)
    # 2049 is no fp16: its rounding is what is exact.
    assert _wrong([2048.0], [2049.0], [4.0], "fp16", exact=True) == (0, 0)
    assert _wrong([2052.0], [2049.0], [4.0], "fp16", exact=True) == (1, 0)
    # A reference with fractions is not integer arithmetic (softmax, a mean).
    assert _wrong([0.5, 2.5], [0.5, 2.0], [1.0, 1.0], "fp32", exact=True) == (0, 0)


@given(
    st.lists(
        st.tuples(
            st.floats(-1e30, 1e30),
            st.floats(0, 1e20),
            st.sampled_from(["fp64", "fp32", "bf16", "fp16"]),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_settling_never_tightens_and_hardly_loosens(rows: list[tuple[float, float, str]]) -> None:
    for value, bound, name in rows:
        form = find(name)
        settled, grown = truth.settle(np.array([value]), np.array([bound]), form, exact=False)
        if np.isnan(grown[0]) or np.isinf(settled[0]):
            continue
        rounding = abs(formats.decode(formats.encode(np.array([value]), form), form)[0] - value)
        honest = max(bound, rounding)
        # Everything that the case allows is still allowed ...
        assert abs(settled[0] - value) + honest <= grown[0] * (1 + 2.0**-40)
        # ... and hardly anything else is.
        assert grown[0] <= honest * 1.012


def test_the_report_names_the_first_wrong_element() -> None:
    form = find("fp32")
    value = np.arange(12.0).reshape(3, 4)
    out = value.copy()
    out[1, 2] += 1
    out[2, 0] = NAN
    found = truth.judge("y", "plugin", formats.encode(out, form), value, np.full((3, 4), 0.5), form)
    assert (found.wrong, found.first_index) == (2, (1, 2))
    assert found.first == "is 7, must be 6 within 0.5"
    assert (found.worst_error, found.worst_of_bound) == (pytest.approx(1), pytest.approx(2))


def test_thinned_references_meet_every_row_and_column() -> None:
    value = np.ones((512, 300))
    kept, bound = truth.thin(value, np.full(value.shape, 0.5))
    judged = ~np.isnan(bound)
    assert judged.any(0).all()
    assert judged.any(1).all()
    assert 5_000 < judged.sum() <= 1 << 13
    assert (kept[judged] == 1).all()
    small = np.ones((8, 8))
    assert truth.thin(small, small)[1] is small
    exact = np.zeros((512, 300))
    assert truth.thin(value, exact)[1] is exact
