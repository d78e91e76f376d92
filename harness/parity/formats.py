"""Number formats by Triton's short names: their bits, and the way to and from float64.

Values travel as *bits*: unsigned integers for floating-point formats (so that NaN payloads and
signed zeros survive every copy), plain integers for integer formats.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from harness.errors import HarnessError

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


class Format(msgspec.Struct, frozen=True):
    """A number format. ``mantissa`` is the number of stored bits, 0 for integers.

    ``largest`` is the largest finite value; ``infinities`` says that the format has them.
    """

    name: str
    storage: str
    mantissa: int = 0
    largest: float = 0.0
    infinities: bool = True
    torch: str = ""

    @property
    def floating(self) -> bool:
        """Whether this is a floating-point format."""
        return self.mantissa > 0

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy type that holds the bits."""
        return np.dtype(self.storage)

    @property
    def size(self) -> int:
        """Bytes per element."""
        return self.dtype.itemsize

    @property
    def sign_mask(self) -> int:
        """The sign bit of a floating-point format."""
        return 1 << (8 * self.size - 1)

    @property
    def infinity(self) -> int:
        """The bits of +Inf, or of the lowest NaN where there is no infinity."""
        return self.sign_mask - (1 << self.mantissa) if self.infinities else self.sign_mask - 1


_FORMATS = {
    f.name: f
    for f in (
        Format("fp64", "u8", 52, float(np.finfo(np.float64).max), torch="float64"),
        Format("fp32", "u4", 23, float(np.finfo(np.float32).max), torch="float32"),
        Format("fp16", "u2", 10, 65504.0, torch="float16"),
        Format("bf16", "u2", 7, float.fromhex("0x1.fep127"), torch="bfloat16"),
        Format("fp8e5", "u1", 2, 57344.0, torch="float8_e5m2"),
        Format("fp8e4nv", "u1", 3, 448.0, infinities=False, torch="float8_e4m3fn"),
        *(Format(f"i{8 * n}", f"i{n}") for n in (1, 2, 4, 8)),
        *(Format(f"u{8 * n}", f"u{n}") for n in (1, 2, 4, 8)),
        Format("i1", "u1"),
    )
}


def find(name: str) -> Format:
    """The format called ``name``; raises HarnessError for one that is not known."""
    if name not in _FORMATS:
        raise HarnessError(
            f"dtype {name!r}", "not a tensor type of parity runs", f"use one of {sorted(_FORMATS)}"
        )
    return _FORMATS[name]


def encode(values: Floats, form: Format) -> Array:
    """``values`` rounded to nearest even, as bits. Integers must be in range."""
    if not form.floating:
        return values.astype(form.dtype)
    import torch

    narrow = torch.from_numpy(np.ascontiguousarray(values, np.float64)).to(
        getattr(torch, form.torch)
    )
    raw = narrow.reshape(-1).view(torch.uint8).numpy()
    return raw.view(form.dtype).reshape(values.shape)


def decode(bits: Array, form: Format) -> Floats:
    """The exact float64 value of each element."""
    if form.floating and form.size == 1:
        return _table(form)[bits]
    if form.name == "bf16":
        bits = (bits.astype(np.uint32) << 16).view(np.float32)
    elif form.floating:
        bits = bits.view(f"f{form.size}")
    with np.errstate(invalid="ignore"):  # widening a signalling NaN
        return bits.astype(np.float64)


def ordinal(bits: Array, form: Format) -> Array:
    """Integers in the order of the values, one apart for neighbours; both zeros are 0."""
    if form.name == "u64":
        return (bits ^ np.uint64(form.sign_mask)).view(np.int64)
    if not form.floating:
        return bits.astype(np.int64)
    magnitude = (bits & form.dtype.type(form.sign_mask - 1)).astype(np.int64)
    signed: Array = np.where(negative(bits, form), -magnitude, magnitude)
    return signed


def negative(bits: Array, form: Format) -> Array:
    """Where the sign bit is set."""
    signs: Array = (bits & form.dtype.type(form.sign_mask)) != 0
    return signs


def is_nan(bits: Array, form: Format) -> Array:
    """Where an element is a NaN; nowhere for integers."""
    if not form.floating:
        return np.zeros(bits.shape, bool)
    magnitude: Array = bits & form.dtype.type(form.sign_mask - 1)
    limit = form.dtype.type(form.infinity)
    above: Array = magnitude > limit if form.infinities else magnitude >= limit
    return above


def is_inf(bits: Array, form: Format) -> Array:
    """Where an element is an infinity; nowhere for formats that have none."""
    if not form.floating or not form.infinities:
        return np.zeros(bits.shape, bool)
    equal: Array = (bits & form.dtype.type(form.sign_mask - 1)) == form.dtype.type(form.infinity)
    return equal


def _table(form: Format) -> Floats:
    """The values of all 256 bit patterns of an 8-bit format."""
    every = np.arange(256)
    exponent_bits = 7 - form.mantissa
    exponent = (every & 127) >> form.mantissa
    fraction = (every & ((1 << form.mantissa) - 1)) / (1 << form.mantissa)
    bias = (1 << (exponent_bits - 1)) - 1
    value = np.where(
        exponent == 0, np.ldexp(fraction, 1 - bias), np.ldexp(1.0 + fraction, exponent - bias)
    )
    bits = every.astype(np.uint8)
    value = np.where(is_inf(bits, form), np.inf, value)
    value = np.where(is_nan(bits, form), np.nan, value)
    return np.where(every & 128, -value, value)
