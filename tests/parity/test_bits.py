"""Bit comparison on planted differences: payloads, signed zeros, single ULPs, in every format."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import HarnessError
from harness.parity import bits, formats
from harness.parity.formats import Format, find

FLOATS = [find(name) for name in ("fp64", "fp32", "fp16", "bf16", "fp8e5", "fp8e4nv")]
INTEGERS = [find(name) for name in ("i8", "i32", "i64", "u8", "u64")]


@pytest.mark.parametrize("form", FLOATS, ids=lambda form: form.name)
def test_planted_differences(form: Format) -> None:
    one = int(formats.encode(np.array([1.0]), form)[0])
    nan = form.infinity | 1 << (form.mantissa - 1) if form.infinities else form.infinity
    left = np.array([one, one, 0, nan, one, nan, one], form.dtype).reshape(1, 7)
    right = left.copy()
    right[0, 1] += 1  # one ULP
    right[0, 2] |= form.dtype.type(form.sign_mask)  # the other zero
    right[0, 3] |= form.dtype.type(form.sign_mask)  # another payload (sign) of NaN
    right[0, 4] = nan  # a NaN on one side only
    found = bits.compare("y", left, right, form)
    assert (found.differing, found.worst_ulp, found.zero_signs) == (4, 1, 1)
    assert found.histogram == {"0": 1, "1": 1}
    assert found.first_index == (0, 1)
    assert found.first == (f"0x{one:0{2 * form.size}x}", f"0x{one + 1:0{2 * form.size}x}")
    assert (found.nan.both, found.nan.right_only, found.nan.left_only) == (2, 1, 0)
    assert found.nan.payloads_differ == 1
    assert found.inf.both == found.inf.left_only == found.inf.right_only == 0


def test_infinities_are_counted_per_side() -> None:
    form = find("fp16")
    left = formats.encode(np.array([np.inf, -np.inf, 1.0, np.inf]), form)
    right = formats.encode(np.array([np.inf, 1.0, np.inf, -np.inf]), form)
    found = bits.compare("y", left, right, form)
    assert (found.inf.both, found.inf.left_only, found.inf.right_only) == (2, 1, 1)
    assert found.inf.payloads_differ == 1  # infinities of opposite sign


def test_equal_buffers_have_nothing_to_say() -> None:
    values = np.arange(12, dtype=np.uint32).reshape(3, 4)
    found = bits.compare("y", values, values.copy(), find("fp32"))
    assert (found.differing, found.histogram, found.first_index) == (0, {}, ())
    assert found.elements == 12


@given(st.floats(width=64, allow_nan=False), st.integers(0, 1 << 40))
def test_ulps_are_counted_by_stepping(start: float, steps: int) -> None:
    form = find("fp64")
    low = np.array([start]).view("u8")
    ordinal = int(formats.ordinal(low, form)[0])
    target = min(ordinal + steps, int(form.infinity))
    high = np.array([target if target >= 0 else -target | form.sign_mask], np.uint64)
    found = bits.compare("y", low, high, form)
    assert found.worst_ulp == (target - ordinal if found.differing else 0)


@pytest.mark.parametrize("form", INTEGERS, ids=lambda form: form.name)
def test_integer_extremes(form: Format) -> None:
    limits = np.iinfo(form.dtype)
    left = np.array([limits.min, 5], form.dtype)
    right = np.array([limits.max, 7], form.dtype)
    found = bits.compare("y", left, right, form)
    assert found.worst_ulp == int(limits.max) - int(limits.min)
    assert found.histogram["2"] == 1
    assert sum(found.histogram.values()) == 2
    assert found.zero_signs == 0


@given(st.lists(st.integers(0, 2**16 - 1), min_size=1, max_size=40), st.data())
def test_differences_are_counted_exactly(words: list[int], data: st.DataObject) -> None:
    form = find("bf16")
    left = np.array(words, np.uint16)
    right = np.array([data.draw(st.sampled_from([w, w ^ 1, w ^ 0x8000])) for w in words], "u2")
    found = bits.compare("y", left, right, form)
    assert found.differing == sum(int(a != b) for a, b in zip(left, right, strict=True))
    numbers = found.differing - sum(
        int(a != b and (_nan(a) or _nan(b))) for a, b in zip(left, right, strict=True)
    )
    assert sum(found.histogram.values()) == numbers


def _nan(word: np.uint16) -> bool:
    return bool(np.isnan((np.array([word], np.uint32) << 16).view(np.float32)[0]))


@pytest.mark.parametrize("form", FLOATS, ids=lambda form: form.name)
def test_every_pattern_decodes_as_torch_does(form: Format) -> None:
    import torch

    patterns = np.random.default_rng(1).integers(0, 2 ** min(63, 8 * form.size), 5000)
    words = patterns.astype(form.dtype) if form.size > 1 else np.arange(256, dtype=np.uint8)
    raw = torch.from_numpy(words.view(np.uint8).copy()).view(getattr(torch, form.torch))
    expected = raw.to(torch.float64).numpy()
    np.testing.assert_array_equal(formats.decode(words, form), expected)
    assert np.array_equal(formats.is_nan(words, form), np.isnan(expected))
    assert np.array_equal(formats.is_inf(words, form), np.isinf(expected))
    finite = words[np.isfinite(expected)]
    again = formats.encode(formats.decode(finite, form), form)
    assert np.array_equal(again, finite)
    assert float(np.max(expected, where=np.isfinite(expected), initial=0.0)) <= form.largest


def test_unknown_format_names_those_that_exist() -> None:
    with pytest.raises(HarnessError, match="fp7") as caught:
        find("fp7")
    assert "bf16" in caught.value.way_out
