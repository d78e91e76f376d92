"""Differences planted in a kernel's outputs: one bit, a NaN, its payload, the sign of a zero."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from harness.parity import bits, formats, verdict
from harness.parity.formats import Array, Format
from harness.parity.result import State, TrialResult
from harness.selfcheck.table import Finding

SHAPE = (48, 96)
OUTPUT = "out_ptr"
Change = Callable[[int, Format, np.random.Generator], int]


def _one_bit(old: int, form: Format, draw: np.random.Generator) -> int:
    return old ^ 1 << int(draw.integers(8 * form.size))


def _nan(old: int, form: Format, draw: np.random.Generator) -> int:
    return form.sign_mask - 1


def _other_payload(old: int, form: Format, draw: np.random.Generator) -> int:
    return old ^ form.sign_mask


KINDS: tuple[tuple[str, Change, str], ...] = (
    ("one bit", _one_bit, ""),
    ("a NaN", _nan, "in being NaN"),
    ("the payload of a NaN", _other_payload, "in a NaN's payload"),
    ("the sign of a zero", _other_payload, "in the sign of a zero"),
)
_BEFORE = {"the payload of a NaN": _nan, "the sign of a zero": lambda *_: 0, "a NaN": lambda *_: 0}


def plant_outputs(each: int = 2) -> Iterator[Finding]:
    """Plant changes of one element in outputs of every format; bits are random, NaNs included."""
    for name in ("fp64", "fp32", "fp16", "bf16", "fp8e5", "fp8e4nv", "i64", "i32", "i16", "i8"):
        form = formats.find(name)
        for kind, change, says in KINDS if form.floating else KINDS[:1]:
            for number in range(each):
                yield _plant(form, kind, change, says, number)


def _plant(form: Format, kind: str, change: Change, says: str, number: int) -> Finding:
    draw = np.random.Generator(np.random.Philox(key=number))
    unsigned = np.dtype(f"u{form.size}")
    left = (
        np.frombuffer(draw.bytes(form.size * SHAPE[0] * SHAPE[1]), unsigned).reshape(SHAPE).copy()
    )
    place = tuple(int(draw.integers(extent)) for extent in SHAPE)
    if kind in _BEFORE:
        left[place] = _BEFORE[kind](0, form, draw)
    right = left.copy()
    right[place] = change(int(left[place]), form, draw)
    found = bits.compare(OUTPUT, _as(left, form), _as(right, form), form)
    trial = TrialResult(distribution="planted", bits=(found,))
    state, _, reason = verdict.of([trial], ["reference", "candidate"])
    return Finding(
        group="outputs",
        kind=kind,
        subject=form.name,
        what=f"element {list(place)}: {int(left[place]):#x} becomes {int(right[place]):#x}",
        caught=state is State.DIFFERENT and found.differing == 1,
        located=found.first_index == place and says in reason and OUTPUT in reason,
        answer=reason,
    )


def _as(raw: Array, form: Format) -> Array:
    return raw.view(form.dtype)
