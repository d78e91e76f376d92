"""Two buffers of bits of one format, compared byte for byte and described where they differ."""

from __future__ import annotations

import numpy as np

from harness.parity import formats
from harness.parity.formats import Array, Format
from harness.parity.result import Bits, Specials

_BUCKETS = 65


def compare(name: str, left: Array, right: Array, form: Format) -> Bits:
    """Compare the reference's (left) and the candidate's (right) bits of one output.

    ULPs are counted between elements that are no NaN; an infinity is one past the largest
    finite value. Signed zeros are 0 ULP apart, and differ.
    """
    nans = _count(formats.is_nan(left, form), formats.is_nan(right, form), left, right)
    infs = _count(formats.is_inf(left, form), formats.is_inf(right, form), left, right)
    differs = left != right
    total = int(differs.sum())
    if not total:
        return Bits(output=name, elements=left.size, nan=nans, inf=infs)
    numbers = differs & ~formats.is_nan(left, form) & ~formats.is_nan(right, form)
    a, b = formats.ordinal(left, form)[numbers], formats.ordinal(right, form)[numbers]
    # Unsigned wrap-around gives the distance even where the signed one overflows.
    distance = np.where(a > b, a.view("u8") - b.view("u8"), b.view("u8") - a.view("u8"))
    first = np.unravel_index(int(np.argmax(differs)), differs.shape)
    width = 2 * form.size
    zeros = int((distance == 0).sum()) if form.floating else 0
    return Bits(
        output=name,
        elements=left.size,
        differing=total,
        worst_ulp=int(distance.max(initial=0)),
        histogram=_histogram(distance),
        zero_signs=zeros,
        first_index=tuple(int(i) for i in first),
        first=(f"0x{_raw(left[first], form):0{width}x}", f"0x{_raw(right[first], form):0{width}x}"),
        nan=nans,
        inf=infs,
    )


def _count(mine: Array, others: Array, left: Array, right: Array) -> Specials:
    both = mine & others
    return Specials(
        left_only=int((mine & ~others).sum()),
        right_only=int((others & ~mine).sum()),
        both=int(both.sum()),
        payloads_differ=int((both & (left != right)).sum()),
    )


def _histogram(distance: Array) -> dict[str, int]:
    """Counts by powers of two: ``"0"``, ``"1"``, ``"2"``, ``"3-4"``, ``"5-8"``, ..."""
    found = {}
    if zeros := int((distance == 0).sum()):
        found["0"] = zeros
    low = 1
    for power in range(_BUCKETS):
        high = 1 << power
        if count := int(((distance >= low) & (distance <= high)).sum()):
            found[str(high) if low == high else f"{low}-{high}"] = count
        low = high + 1
    return found


def _raw(element: np.generic, form: Format) -> int:
    return int(np.asarray(element).view(f"u{form.size}"))
