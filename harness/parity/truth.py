"""Truth: an output against its float64 reference, within the bound that its case argues.

``settle`` turns what a case's reference function returned into what the bundle stores, where the
format's own rules are already applied; ``judge`` then needs only ``|out - value| <= bound``.
"""

from __future__ import annotations

import numpy as np

from harness.parity import formats
from harness.parity.formats import Array, Floats, Format
from harness.parity.result import Truth

# The stored value may be off by 2**-9 of the bound and the stored bound is rounded up to eight
# bits, so that both compress; together the bound grows by less than 1 %.
_VALUE_STEP = -8
_BOUND_BITS = 8
_THINNED = 1 << 13


def settle(value: Floats, bound: Floats, form: Format, *, exact: bool) -> tuple[Floats, Floats]:
    """The reference to store for an output of this format.

    - The correctly rounded result is always within the bound.
    - With ``exact`` (small integer inputs) and a reference that is whole everywhere, the
      arithmetic is exact, and the bound is that rounding alone.
    - A value that the format cannot hold is its infinity. Where the bound leaves open whether
      it overflows, or what overflow gives (fp8 saturates or not, integers wrap), nothing is
      judged: such elements have the bound NaN, like those for which the case has none.
    """
    with np.errstate(all="ignore"):
        finite = np.isfinite(value)
        magnitude = np.where(finite, np.abs(value), 0.0)
        rounding = np.abs(_rounded(np.where(finite, value, 0.0), form) - value)
        overflows = magnitude > _threshold(form)
        rounding = np.where(finite & ~overflows, rounding, 0.0)
        if exact and bool(np.all(finite & (value == np.rint(value)))):
            bound = rounding
        else:
            bound = np.maximum(bound, rounding)
        unsure = finite & (magnitude + bound > _threshold(form))
        if form.floating and form.size > 1:
            surely = unsure & (magnitude - bound > _threshold(form))
            value = np.where(surely, np.copysign(np.inf, value), value)
            unsure &= ~surely
        bound = np.where(unsure | (finite & ~np.isfinite(bound)), np.nan, bound)
        bound = np.where(finite, bound, 0.0)
        return _compact(value, bound)


def thin(value: Floats, bound: Floats) -> tuple[Floats, Floats]:
    """Keep the reference of some 8,000 elements spread over an output; the rest is not judged.

    For the distributions beyond the first one, so that bundles stay small. An odd step meets
    every row and column. What compresses to nothing anyway (exact integers) stays whole.
    """
    if value.size <= _THINNED or not bound.any():
        return value, bound
    step = -(-value.size // _THINNED) | 1
    kept = (np.arange(value.size) % step == 0).reshape(value.shape)
    return np.where(kept, value, 0.0), np.where(kept, bound, np.nan)


def judge(name: str, side: str, bits: Array, value: Floats, bound: Floats, form: Format) -> Truth:
    """Hold an output against its reference; NaN and Inf are compared as classes."""
    out = formats.decode(bits, form)
    with np.errstate(all="ignore"):
        judged = ~np.isnan(bound)
        error = np.abs(out - value)
        special = ~np.isfinite(value)
        same_class = np.where(np.isnan(value), np.isnan(out), out == value)
        wrong = judged & np.where(special, ~same_class, ~(error <= bound))
        ordinary = judged & ~special & np.isfinite(out)
        ratio = np.where(ordinary & (bound > 0), error / bound, 0.0)
    first = np.unravel_index(int(np.argmax(wrong)), wrong.shape) if wrong.any() else ()
    return Truth(
        output=name,
        side=side,
        elements=wrong.size,
        wrong=int(wrong.sum()),
        unjudged=int((~judged).sum()),
        worst_error=float(np.max(error, where=ordinary, initial=0.0)),
        worst_of_bound=float(ratio.max(initial=0.0)),
        first_index=tuple(int(i) for i in first),
        first=(
            f"is {out[first]:.9g}, must be {value[first]:.9g} within {bound[first]:.3g}"
            if wrong.any()
            else ""
        ),
    )


def _threshold(form: Format) -> float:
    """The largest magnitude that does not overflow."""
    if form.floating:
        half_step = form.largest * 2.0 ** -(form.mantissa + 2)
        return form.largest + half_step if form.infinities else form.largest
    return 1.0 if form.name == "i1" else float(np.iinfo(form.dtype).max)


def _rounded(value: Floats, form: Format) -> Floats:
    limit = _threshold(form)
    clipped = np.clip(value, -limit, limit)
    if form.floating:
        return formats.decode(formats.encode(clipped, form), form)
    return np.rint(clipped)


def _compact(value: Floats, bound: Floats) -> tuple[Floats, Floats]:
    """Drop bits far below the bound, and grow the bound by what that changed."""
    usable = np.isfinite(value) & (bound > 0)
    step = np.ldexp(1.0, np.frexp(np.where(usable, bound, 1.0))[1] - 1 + _VALUE_STEP)
    shorter = np.where(usable & (step > 0), np.rint(value / step) * step, value)
    grown = np.where(usable, bound + np.abs(value - shorter), bound)
    fraction, exponent = np.frexp(grown)
    upward = np.ldexp(np.ceil(np.ldexp(fraction, _BOUND_BITS)), exponent - _BOUND_BITS)
    return shorter, np.where(usable, upward, grown)
