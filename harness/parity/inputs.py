"""Inputs made from a seed, the same bits on every machine.

Only numpy's Philox bit stream (whose values are guaranteed) and exact arithmetic are used: no
``log`` or ``cos`` whose last bit depends on the processor. Rounding to the tensor's format is
the one step left to torch, and every input is hashed.
"""

from __future__ import annotations

import hashlib
import math

import numpy as np
import numpy.typing as npt

from harness.parity import formats
from harness.parity.formats import Array, Format
from harness.parity.manifest import InputTensor, Problem

DISTRIBUTIONS = ("normal", "wide", "specials", "integers")

# Exponents of the "wide" distribution; narrow formats keep room for products.
_WIDE = {"fp16": (-12, 6), "fp8e5": (-12, 6), "fp8e4nv": (-6, 6)}
_WIDE_DEFAULT = (-16, 16)
_WIDE_INTEGER_BITS = {1: 8, 2: 16, 4: 21, 8: 41}
_SMALL = 2  # "integers" are -2 ... 2, so that even long sums stay exact in 16-bit formats
_SPECIAL_RUN = 64


def applicable(problem: Problem, distribution: str) -> str:
    """Why a distribution cannot be tried on a problem, or ``""`` if it can."""
    tensors = problem.inputs().values()
    data = [t for t in tensors if t.fill != "index"]
    if distribution == "normal":
        return ""
    if not data:
        return "no input follows the distribution"
    if distribution == "specials" and not any(
        t.specials and formats.find(t.dtype).floating for t in data
    ):
        return "NaN, Inf and subnormals are outside the kernel's contract"
    return ""


def generate(tensor: InputTensor, distribution: str, seed: int, label: str) -> Array:
    """The bits of one input. ``label`` (case and argument) keeps inputs independent."""
    form = formats.find(tensor.dtype)
    count = math.prod(tensor.shape)
    if tensor.fill == "index":
        limit = tensor.modulo or _index_limit(form)
        values = np.arange(count, dtype=np.int64) % limit + tensor.offset
        return formats.encode(values.astype(np.float64), form).reshape(tensor.shape)
    stream = np.random.Philox(key=_key(seed, distribution, label))
    bits = _data(form, distribution, stream, count)
    if distribution == "specials" and tensor.specials and form.floating:
        bits = _sprinkle(bits, form, tensor.shape, stream)
    if tensor.fill == "positive":
        bits = _absolute(bits, form)
    if tensor.modulo is not None:
        bits = (bits.astype(np.int64) % tensor.modulo).astype(form.dtype)
    return bits.reshape(tensor.shape)


def generate_all(case_id: str, problem: Problem, distribution: str, seed: int) -> dict[str, Array]:
    """The bits of every input of a problem."""
    return {
        name: generate(tensor, distribution, seed, f"{case_id}/{name}")
        for name, tensor in problem.inputs().items()
    }


def digest(bits: Array) -> str:
    """The sha256 of an input's bytes in row-major order."""
    return hashlib.sha256(np.ascontiguousarray(bits).tobytes()).hexdigest()


def _key(seed: int, distribution: str, label: str) -> int:
    text = f"{seed}/{distribution}/{label}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:16], "little")


def _data(form: Format, distribution: str, stream: np.random.Philox, count: int) -> Array:
    first = stream.random_raw(count)
    if distribution == "integers":
        small = (first % np.uint64(2 * _SMALL + 1)).astype(np.int64) - _SMALL
        return formats.encode(_in_range(small, form).astype(np.float64), form)
    if not form.floating:
        width = _WIDE_INTEGER_BITS[form.size] if distribution == "wide" else 7
        whole = (first >> np.uint64(64 - width)).astype(np.int64) - (1 << (width - 1))
        return _in_range(whole, form).astype(form.dtype)
    second = stream.random_raw(count)
    unit = (second >> np.uint64(11)).astype(np.float64) * 2.0**-53
    if distribution == "wide":
        low, high = _WIDE.get(form.name, _WIDE_DEFAULT)
        exponent = (first >> np.uint64(1)) % np.uint64(high - low)
        sign = 1.0 - 2.0 * (first & np.uint64(1)).astype(np.float64)
        values = sign * np.ldexp(1.0 + unit, exponent.astype(np.int64) + low)
    else:
        # 64 coin flips, and a fraction between two counts: close to normal, deviation 1,
        # never beyond 8.125, and exact in float64.
        values = (np.bitwise_count(first).astype(np.float64) - 32.0) / 4.0 + (unit - 0.5) / 4.0
    return formats.encode(values, form)


def _in_range(whole: npt.NDArray[np.int64], form: Format) -> npt.NDArray[np.int64]:
    if form.name == "i1":
        return whole & 1
    return abs(whole) if form.storage.startswith("u") and not form.floating else whole


def _sprinkle(bits: Array, form: Format, shape: tuple[int, ...], stream: np.random.Philox) -> Array:
    """Put special values into every fourth row or run, one element in eight there.

    Rows without any stay, so that a value leaking from one row into another is seen.
    """
    table = _special_values(form)
    run = shape[-1] if len(shape) > 1 else _SPECIAL_RUN
    words = stream.random_raw(bits.size)
    rows = np.arange(bits.size) // run
    # Row 1 first: a tensor of few rows still has one with and one without.
    chosen = (rows % 4 == 1) & (words % np.uint64(8) == 0)
    picked = table[((words >> np.uint64(8)) % np.uint64(len(table))).astype(np.int64)]
    return np.where(chosen, picked, bits)


def _special_values(form: Format) -> Array:
    """NaNs with payloads, infinities, subnormals, zeros and extremes, of both signs."""
    quiet = form.infinity | 1 << (form.mantissa - 1)
    largest = form.infinity - 1
    positive = [0, 1, (1 << form.mantissa) - 1, 1 << form.mantissa, largest, quiet, quiet | 1]
    if form.infinities:
        positive.append(form.infinity)
    both = [*positive, *(bits | form.sign_mask for bits in positive)]
    return np.array(both, form.dtype)


def _absolute(bits: Array, form: Format) -> Array:
    if form.floating:
        bits = bits & form.dtype.type(form.sign_mask - 1)
    elif form.storage.startswith("i"):
        bits = np.abs(bits)
    return bits


def _index_limit(form: Format) -> int:
    """So many counts are exact in the format: all of them differ."""
    if form.floating:
        return 1 << (form.mantissa + 1)
    return 2 if form.name == "i1" else int(np.iinfo(form.dtype).max)
