"""Inputs: the same everywhere, and what each distribution promises."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from harness.parity import formats, inputs
from harness.parity.formats import find
from harness.parity.manifest import InputTensor, OutputTensor, Problem, TensorDescriptor, Value

SHAPE = (16, 250)
FLOATS = ("fp64", "fp32", "fp16", "bf16", "fp8e5", "fp8e4nv")

# Hashes of the bits made on another machine: a change here makes every old bundle useless.
PINNED = {
    ("fp32", "normal"): "706f66f6c2e6070f7631a7da34d2c41d8d78cec07cc787e5c521b258d007530b",
    ("bf16", "wide"): "9f3ef67ba707e766610aabb9be2289341ad403f179e0900148cdc5bf9fee2378",
    ("fp8e4nv", "specials"): "7ab08fbbaf7cc86c305d92c9f3fccc3125d1ac765cbfe697178ac8f46c72476d",
    ("i32", "integers"): "272b8d14830ed2dd5352decdb5618a22be4041b44d224f0bf4337a6412607296",
}


def _values(dtype: str, distribution: str, **more: object) -> np.ndarray:
    tensor = InputTensor(SHAPE, dtype, **more)  # type: ignore[arg-type]
    made = inputs.generate(tensor, distribution, 1, "case/x")
    assert made.shape == SHAPE
    assert made.dtype == find(dtype).dtype
    return formats.decode(made, find(dtype))


@pytest.mark.parametrize(("dtype", "distribution"), PINNED)
def test_bits_are_pinned(dtype: str, distribution: str) -> None:
    made = inputs.generate(InputTensor(SHAPE, dtype), distribution, 1, "case/x")
    assert inputs.digest(made) == PINNED[dtype, distribution]


def test_another_process_makes_the_same_bits() -> None:
    tensor = InputTensor(SHAPE, "fp16")
    here = [inputs.digest(inputs.generate(tensor, d, 7, "l")) for d in inputs.DISTRIBUTIONS]
    program = (
        "from harness.parity import inputs; from harness.parity.manifest import InputTensor\n"
        f"t = InputTensor({SHAPE}, 'fp16')\n"
        "print(*[inputs.digest(inputs.generate(t, d, 7, 'l')) for d in inputs.DISTRIBUTIONS])"
    )
    there = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert there.stdout.split() == here
    assert len(set(here)) == 4


def test_seed_and_label_change_the_bits() -> None:
    tensor = InputTensor(SHAPE, "fp32")
    made = {
        inputs.digest(inputs.generate(tensor, "normal", seed, label))
        for seed in (1, 2)
        for label in ("a", "b")
    }
    assert len(made) == 4


@pytest.mark.parametrize("dtype", FLOATS)
def test_normal(dtype: str) -> None:
    values = _values(dtype, "normal")
    assert np.isfinite(values).all()
    assert abs(values.mean()) < 0.1
    assert 0.9 < values.std() < 1.1
    assert 0.6 < np.mean(np.abs(values) < 1) < 0.75


@pytest.mark.parametrize("dtype", FLOATS)
def test_wide_spans_many_binades_and_stays_finite(dtype: str) -> None:
    values = _values(dtype, "wide")
    assert np.isfinite(values).all()
    exponents = np.frexp(np.abs(values[values != 0]))[1]
    assert exponents.max() - exponents.min() >= 10
    assert 0.4 < np.mean(values < 0) < 0.6


@pytest.mark.parametrize("dtype", FLOATS)
def test_specials_are_all_there_and_leave_rows_alone(dtype: str) -> None:
    form = find(dtype)
    bits = inputs.generate(InputTensor(SHAPE, dtype), "specials", 1, "case/x")
    values = formats.decode(bits, form)
    nans = formats.is_nan(bits, form)
    assert len(np.unique(bits[nans])) >= 2  # several payloads
    assert formats.is_inf(bits, form).any() == form.infinities
    smallest = bits & form.dtype.type(form.sign_mask - 1)
    assert ((smallest > 0) & (smallest < (1 << form.mantissa))).any()  # subnormals
    assert (bits == form.sign_mask).any()  # -0.0
    assert np.isfinite(values[0::4]).all()
    assert not np.isfinite(values[1::4]).all()


def test_specials_outside_the_contract_are_not_made() -> None:
    assert np.isfinite(_values("fp16", "specials", specials=False)).all()


@pytest.mark.parametrize("dtype", [*FLOATS, "i8", "i32"])
def test_integers_are_small_and_exact(dtype: str) -> None:
    assert set(np.unique(_values(dtype, "integers"))) == {-2.0, -1.0, 0.0, 1.0, 2.0}


@pytest.mark.parametrize("distribution", inputs.DISTRIBUTIONS)
def test_fills(distribution: str) -> None:
    assert not (_values("fp16", distribution, fill="positive") < 0).any()
    index = _values("i32", distribution, fill="index", modulo=7)
    assert np.array_equal(index.reshape(-1), np.arange(index.size) % 7)
    assert _values("i32", distribution, modulo=5).max() <= 4
    scales = _values("u8", distribution, fill="index", modulo=5, offset=123)
    assert np.array_equal(scales.reshape(-1), 123 + np.arange(scales.size) % 5)


def test_unsigned_and_boolean_stay_in_range() -> None:
    assert _values("u8", "integers").max() <= 2
    assert set(np.unique(_values("i1", "normal"))) == {0.0, 1.0}


def test_which_distributions_apply() -> None:
    def problem(*tensors: InputTensor) -> Problem:
        arguments = {f"x{n}": tensor for n, tensor in enumerate(tensors)}
        return Problem(
            (1, 1, 1), {**arguments, "y": OutputTensor((4,), "fp32"), "n": Value("i32", 1)}
        )

    plain = InputTensor((4,), "fp32")
    assert inputs.applicable(problem(plain), "specials") == ""
    closed = InputTensor((4,), "fp32", specials=False)
    assert "contract" in inputs.applicable(problem(closed), "specials")
    assert inputs.applicable(problem(closed, plain), "specials") == ""
    assert "contract" in inputs.applicable(problem(InputTensor((4,), "i32")), "specials")
    assert inputs.applicable(problem(InputTensor((4,), "i32", fill="index")), "wide")
    assert inputs.applicable(problem(InputTensor((4,), "i32", fill="index")), "normal") == ""
    described = Problem((1, 1, 1), {"x": TensorDescriptor(plain)})
    assert inputs.applicable(described, "specials") == ""
