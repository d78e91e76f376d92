"""The float64 references of the memory, copy, barrier, warp-group, baseline and reduction kernels.

Each is compared with an independent computation by torch, ``struct`` or plain loops, which must
lie within the argued bound; what a plausible defect of the kernel would compute must lie outside.
"""

import dataclasses
import functools
import itertools
import math
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch
import torch.nn.functional as nn

from harness.case import Expected, Input, Kernel, Output, Scalar, Spec
from harness.corpus import load_kernel

Floats = npt.NDArray[np.float64]
Values = Mapping[str, Floats]

CORPUS = Path(__file__).parents[2] / "corpus"
FAMILIES = ("memory", "async_copy", "barriers", "warp_specialisation", "baseline", "reductions")
TORCH = {
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
    "fp32": torch.float32,
    "fp8e4nv": torch.float8_e4m3fn,
    "fp8e5": torch.float8_e5m2,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
}
KERNELS: dict[str, Kernel] = {
    f"{family}/{folder.name}": load_kernel(folder)
    for family in FAMILIES
    for folder in sorted((CORPUS / family).iterdir())
    if (folder / "case.py").is_file()
}


@dataclasses.dataclass(frozen=True)
class Situation:
    """A specialisation with inputs: what an independent computation starts from."""

    spec: Spec
    x: Values

    def constant(self, name: str) -> int:
        return int(str(self.spec.constexprs[name]))

    def size(self, name: str) -> int:
        return self.spec.problem[name]

    def single(self, name: str) -> torch.Tensor:
        """An input in float32, as the kernels compute with it."""
        return torch.from_numpy(self.x[name]).to(torch.float32)

    def rounded(self, values: torch.Tensor, output: str) -> Floats:
        """Values rounded to an output's type."""
        return double(values.to(TORCH[self.spec.signature[output].removeprefix("*")]))


def double(values: torch.Tensor) -> Floats:
    return values.to(torch.float64).numpy()


def fill(tensor: Input, random: np.random.Generator) -> Floats:
    """Values for an input, rounded to its type."""
    if tensor.fill == "index":
        count = np.arange(math.prod(tensor.shape), dtype=np.float64)
        return (count % tensor.modulo if tensor.modulo else count).reshape(tensor.shape)
    if tensor.dtype.startswith("i"):
        return random.integers(-100, 100, tensor.shape).astype(np.float64)
    values = random.standard_normal(tensor.shape)
    values = np.abs(values) if tensor.fill == "positive" else values
    return double(torch.from_numpy(values).to(TORCH[tensor.dtype]))


@functools.cache
def _situation(name: str, spec_name: str) -> Situation:
    spec = next(spec for spec in KERNELS[name].specs if spec.name == spec_name)
    launch = KERNELS[name].launch
    assert launch is not None
    arguments = launch(spec, spec.problem).arguments
    random = np.random.default_rng(zlib.crc32(f"{name}/{spec.name}".encode()))
    tensors = {key: value for key, value in arguments.items() if isinstance(value, Input)}
    return Situation(spec, {key: fill(tensor, random) for key, tensor in tensors.items()})


def situation(name: str, spec: Spec) -> Situation:
    return _situation(name, spec.name)


@functools.cache
def _independent(name: str, spec_name: str) -> dict[str, Floats]:
    return INDEPENDENT[name](_situation(name, spec_name))


def independent(name: str, spec: Spec) -> dict[str, Floats]:
    """Fresh copies of what the independent computation gives."""
    return {key: values.copy() for key, values in _independent(name, spec.name).items()}


def reference(name: str, given: Situation) -> Mapping[str, Expected]:
    function = KERNELS[name].reference
    assert function is not None
    return function(given.spec, given.spec.problem, given.x)


def tiles(length: int, block: int) -> list[slice]:
    return [slice(start, min(start + block, length)) for start in range(0, length, block)]


# The independent computations, one for each kernel.


def copied(s: Situation) -> dict[str, Floats]:
    return {"y_ptr": s.x["x_ptr"].copy()}


def transposed(s: Situation) -> dict[str, Floats]:
    return {"y_ptr": np.array([list(column) for column in zip(*s.x["x_ptr"], strict=True)])}


def both_transposed(s: Situation) -> dict[str, Floats]:
    return {
        "y_ptr": double(torch.from_numpy(s.x["x_ptr"]).t()),
        "z_ptr": double(torch.from_numpy(s.x["w_ptr"]).t()),
    }


def quadrant_sum(s: Situation) -> dict[str, Floats]:
    m, n = s.constant("BLOCK_M"), s.constant("BLOCK_N")
    x = s.single("x_ptr")
    x = nn.pad(x, (0, -x.shape[1] % n, 0, -x.shape[0] % m))
    y = torch.zeros(x.shape[0] // 2, x.shape[1] // 2)
    for row, column in itertools.product(range(x.shape[0] // m), range(x.shape[1] // n)):
        tile = x[row * m : (row + 1) * m, column * n : (column + 1) * n]
        left = tile[: m // 2, : n // 2] + tile[m // 2 :, : n // 2]
        right = tile[: m // 2, n // 2 :] + tile[m // 2 :, n // 2 :]
        y[row * m // 2 : (row + 1) * m // 2, column * n // 2 : (column + 1) * n // 2] = left + right
    return {"y_ptr": double(y)}


def bit_view(s: Situation) -> dict[str, Floats]:
    source, target = (s.spec.signature[name][1:] for name in ("x_ptr", "y_ptr"))
    if source == "fp16":
        memory = b"".join(struct.pack("<e", value) for value in s.x["x_ptr"])
    elif source == "bf16":
        memory = b"".join(struct.pack("<f", value)[2:] for value in s.x["x_ptr"])
    else:
        memory = b"".join(struct.pack("<f", value) for value in s.x["x_ptr"])
    integers = struct.iter_unpack({"i16": "<h", "i32": "<i"}[target], memory)
    return {"y_ptr": np.array([float(integer) for (integer,) in integers])}


def aliased_buffer(s: Situation) -> dict[str, Floats]:
    t = s.single("x_ptr").t()
    return {"y_ptr": double(torch.cat([t + t, t], dim=1))}


def overlap_groups(s: Situation) -> dict[str, Floats]:
    t = s.single("x_ptr").t()
    return {"y_ptr": double(torch.where(t > 0, t + 2, torch.where(t < 0, -t - 2, t)))}


def running_sums(s: Situation) -> dict[str, Floats]:
    return {"y_ptr": double(torch.cumsum(s.single("x_ptr"), dim=1))}


def gather_scatter(s: Situation) -> dict[str, Floats]:
    block, stride, x = s.constant("BLOCK"), s.constant("STRIDE"), s.x["x_ptr"]
    gathered, scattered = np.full_like(x, np.nan), np.full_like(x, np.nan)
    for i in range(x.size):
        base = i - i % block
        place = base + ((i % block) * stride + 3) % block
        gathered[i] = x[place]
        scattered[place] = x[i]
    return {"gathered_ptr": gathered, "scattered_ptr": scattered}


def plus_one(s: Situation) -> dict[str, Floats]:
    return {"y_ptr": double(s.single("x_ptr") + 1)}


def padded_sum(s: Situation) -> dict[str, Floats]:
    padding = -s.size("n") % s.constant("BLOCK") * float(str(s.spec.constexprs["FILL"]))
    return {"y_ptr": np.array([math.fsum([*row, padding]) for row in s.x["x_ptr"]])}


def difference(s: Situation) -> dict[str, Floats]:
    return {"z_ptr": double(s.single("x_ptr") - s.single("y_ptr"))}


def scaled(s: Situation) -> dict[str, Floats]:
    return {"y_ptr": double(s.single("x_ptr") * 1.5)}


def alternation(s: Situation) -> dict[str, Floats]:
    a = torch.zeros(s.size("n"))
    for row in s.single("x_ptr"):
        a = (a + row) / 2
    return {"y_ptr": double(a)}


def square_plus(s: Situation) -> dict[str, Floats]:
    x = s.single("x_ptr")
    return {"y_ptr": double(x * x + x)}


def negated(s: Situation) -> dict[str, Floats]:
    return {"y_ptr": np.array([[-value for value in row] for row in s.x["x_ptr"]])}


def accumulated(s: Situation) -> dict[str, Floats]:
    return {"y_ptr": np.array(list(itertools.accumulate(s.x["x_ptr"])))}


def two_tasks(s: Situation) -> dict[str, Floats]:
    x, low, high = s.single("x_ptr"), torch.empty(s.size("n")), torch.empty(s.size("n"))
    for number, tile in enumerate(tiles(s.size("n"), s.constant("BLOCK"))):
        low[tile] = 0.75 * x[tile] + number % 24
        high[tile] = 0.75 * x[tile] - number % 24
    return {"low_ptr": double(low), "high_ptr": double(high)}


def replicas(s: Situation) -> dict[str, Floats]:
    group = 1 + s.constant("REPLICAS")
    return {"y_ptr": np.array([row + i % group for i, row in enumerate(s.x["x_ptr"])])}


def relay(s: Situation) -> dict[str, Floats]:
    return {"y_ptr": double(nn.relu(s.single("x_ptr")) * 2 + 1)}


def guarded_tasks(s: Situation) -> dict[str, Floats]:
    x, block = s.x["x_ptr"], s.constant("BLOCK")
    total = np.empty_like(x)
    for i in range(x.size):
        other = i - i % block + (i % block + block // 2) % block
        total[i] = x[i] + (x[other] if other < x.size else 0)
    return {"sum_ptr": total, "product_ptr": x + x}


def vector_add(s: Situation) -> dict[str, Floats]:
    return {"z_ptr": double(s.single("x_ptr") + s.single("y_ptr"))}


def row_sum(s: Situation) -> dict[str, Floats]:
    return {"y_ptr": double(s.single("x_ptr").sum(dim=1))}


def softmax(s: Situation) -> dict[str, Floats]:
    return {"y_ptr": s.rounded(torch.softmax(s.single("x_ptr"), dim=1), "y_ptr")}


def matmul(s: Situation) -> dict[str, Floats]:
    a, b = s.single("a_ptr"), s.single("b_ptr")
    if s.spec.signature["a_ptr"] == "*fp32":  # TF32 by truncation: 13 of 23 fraction bits go
        a, b = ((v.view(torch.int32) & -(1 << 13)).view(torch.float32) for v in (a, b))
    return {"c_ptr": s.rounded(a @ b, "c_ptr")}


def layer_norm(s: Situation) -> dict[str, Floats]:
    weight, bias = s.single("weight_ptr"), s.single("bias_ptr")
    y = nn.layer_norm(s.single("x_ptr"), weight.shape, weight, bias, 2.0**-17)
    return {"y_ptr": double(y)}


INDEPENDENT: dict[str, Callable[[Situation], dict[str, Floats]]] = {
    "memory/staged_copy": copied,
    "memory/reuse_kinds": copied,
    "memory/transposed_view": transposed,
    "memory/pinned_layouts": transposed,
    "memory/time_shared": both_transposed,
    "memory/quadrant_sum": quadrant_sum,
    "memory/bit_view": bit_view,
    "memory/aliased_buffer": aliased_buffer,
    "memory/overlap_groups": overlap_groups,
    "memory/required_layout": running_sums,
    "memory/gather_scatter": gather_scatter,
    "async_copy/ring_copy": plus_one,
    "async_copy/padded_sum": padded_sum,
    "async_copy/token_waits": difference,
    "async_copy/single_buffer": transposed,
    "barriers/producer_consumer": scaled,
    "barriers/named_alternation": alternation,
    "barriers/warp_barrier_ring": square_plus,
    "barriers/bulk_expect": negated,
    "barriers/phase_walk": accumulated,
    "warp_specialisation/two_tasks": two_tasks,
    "warp_specialisation/replicas": replicas,
    "warp_specialisation/relay": relay,
    "warp_specialisation/guarded_tasks": guarded_tasks,
    "baseline/vector_add": vector_add,
    "baseline/row_sum": row_sum,
    "baseline/row_softmax": softmax,
    "baseline/matmul": matmul,
    "baseline/layer_norm": layer_norm,
    "reductions/shared_softmax": softmax,
    "reductions/shared_layer_norm": layer_norm,
}
SPECS = [
    pytest.param(name, spec, id=f"{name}/{spec.name}")
    for name in INDEPENDENT
    for spec in KERNELS[name].specs
]


def outside(computed: Values, expected: Mapping[str, Expected]) -> int:
    """How many elements lie outside their bounds."""
    assert computed.keys() == expected.keys()
    count = 0
    for name, values in computed.items():
        assert values.shape == expected[name].value.shape
        count += int((~(np.abs(values - expected[name].value) <= expected[name].bound)).sum())
    return count


def test_every_kernel_has_an_independent_computation() -> None:
    assert set(INDEPENDENT) == {name for name, kernel in KERNELS.items() if kernel.reference}


@pytest.mark.parametrize(("name", "spec"), SPECS)
def test_launch_gives_every_argument_a_small_size(name: str, spec: Spec) -> None:
    kernel = KERNELS[name]
    assert kernel.launch is not None
    launch = kernel.launch(spec, spec.problem)
    assert launch.arguments.keys() == spec.signature.keys()
    assert all(0 < programs < 1 << 16 for programs in launch.grid)
    for key, argument in launch.arguments.items():
        if isinstance(argument, Scalar):
            assert not spec.signature[key].startswith("*")
            if key in spec.divisible_by_16:
                assert argument.value % 16 == 0
        else:
            assert isinstance(argument, Input | Output)
            assert spec.signature[key] == f"*{argument.dtype}"
            width = torch.empty(0, dtype=TORCH[argument.dtype]).element_size()
            assert math.prod(argument.shape) * width <= 1 << 20


@pytest.mark.parametrize(("name", "spec"), SPECS)
def test_an_independent_computation_lies_within_the_bound(name: str, spec: Spec) -> None:
    given = situation(name, spec)
    expected = reference(name, given)
    for wanted in expected.values():
        assert np.isfinite(wanted.value).all()
        assert (np.asarray(wanted.bound) >= 0).all()
    assert outside(independent(name, spec), expected) == 0


@pytest.mark.parametrize(("name", "spec"), SPECS)
def test_elements_that_were_not_written_lie_outside(name: str, spec: Spec) -> None:
    given = situation(name, spec)
    expected = reference(name, given)
    for output in expected:
        values = independent(name, spec)
        values[output].flat[-1] = np.nan
        assert outside(values, expected) == 1


@pytest.mark.parametrize(("name", "spec"), SPECS)
def test_shifted_outputs_lie_outside(name: str, spec: Spec) -> None:
    given = situation(name, spec)
    expected = reference(name, given)
    for output in expected:
        values = independent(name, spec)
        values[output] = np.roll(values[output], 1, axis=-1)
        assert outside(values, expected) > 0.5 * values[output].size


# Defects of one kernel each: what they would compute, as other inputs to the same computation.


def stale_tail(s: Situation, names: Sequence[str]) -> Situation:
    """The last tile of a row repeats the tile before: its own copy came too late."""
    block = s.constant("BLOCK")
    x = {key: value.copy() for key, value in s.x.items()}
    for name in names:
        last = (x[name].shape[1] - 1) // block * block
        rest = x[name].shape[1] - last
        x[name][:, last:] = x[name][:, last - block : last - block + rest]
    return Situation(s.spec, x)


def without_last_column(s: Situation, name: str) -> Situation:
    x = {key: value.copy() for key, value in s.x.items()}
    x[name][:, -1] = 0.0
    return Situation(s.spec, x)


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("memory/staged_copy", ["x_ptr"]),
        ("async_copy/ring_copy", ["x_ptr"]),
        ("async_copy/padded_sum", ["x_ptr"]),
        ("async_copy/token_waits", ["y_ptr"]),
        ("barriers/producer_consumer", ["x_ptr"]),
        ("barriers/warp_barrier_ring", ["x_ptr"]),
        ("barriers/bulk_expect", ["x_ptr"]),
        ("warp_specialisation/relay", ["x_ptr"]),
        ("reductions/shared_softmax", ["x_ptr"]),
        ("reductions/shared_layer_norm", ["x_ptr"]),
    ],
)
def test_a_tile_read_before_it_landed_lies_outside(name: str, inputs: Sequence[str]) -> None:
    for spec in KERNELS[name].specs:
        given = situation(name, spec)
        wrong = INDEPENDENT[name](stale_tail(given, inputs))
        assert outside(wrong, reference(name, given)) >= next(iter(wrong.values())).shape[0] * 0.9


@pytest.mark.parametrize(
    "name",
    ["async_copy/padded_sum", "baseline/row_sum", "baseline/layer_norm", "baseline/row_softmax"],
)
def test_a_sum_that_lacks_its_last_column_lies_outside(name: str) -> None:
    for spec in KERNELS[name].specs:
        given = situation(name, spec)
        wrong = INDEPENDENT[name](without_last_column(given, "x_ptr"))
        rows = next(iter(wrong.values())).shape[0]
        assert outside(wrong, reference(name, given)) >= rows * 0.8


def test_a_product_that_lacks_its_last_step_lies_outside() -> None:
    for spec in KERNELS["baseline/matmul"].specs:
        given = situation("baseline/matmul", spec)
        wrong = matmul(without_last_column(given, "a_ptr"))
        assert outside(wrong, reference("baseline/matmul", given)) > 0.5 * wrong["c_ptr"].size


def test_padding_that_was_not_filled_lies_outside() -> None:
    """The tail of the last tile counts what an earlier tile left in the buffer."""
    for spec in KERNELS["async_copy/padded_sum"].specs:
        given = situation("async_copy/padded_sum", spec)
        x, block = given.x["x_ptr"], given.constant("BLOCK")
        left = x[:, -block:][:, : -given.size("n") % block].sum(axis=1)
        wrong = {"y_ptr": x.sum(axis=1) + left}
        assert outside(wrong, reference("async_copy/padded_sum", given)) > 0.9 * left.size


def test_turns_taken_in_the_wrong_order_lie_outside() -> None:
    name = "barriers/named_alternation"
    for spec in KERNELS[name].specs:
        given = situation(name, spec)
        a = np.zeros(given.size("n"))
        for row in given.x["x_ptr"]:
            a = a / 2 + row
        assert outside({"y_ptr": a}, reference(name, given)) > 0.9 * a.size


def test_an_overwritten_neighbour_lies_outside() -> None:
    """The tile of signs lies on the one of magnitudes, or is lost."""
    name = "memory/overlap_groups"
    for spec in KERNELS[name].specs:
        given = situation(name, spec)
        wrong = {"y_ptr": np.abs(given.x["x_ptr"].T)}
        assert outside(wrong, reference(name, given)) > 0.9 * wrong["y_ptr"].size


def test_converted_instead_of_viewed_numbers_lie_outside() -> None:
    for spec in KERNELS["memory/bit_view"].specs:
        given = situation("memory/bit_view", spec)
        wrong = {"y_ptr": np.repeat(np.trunc(given.x["x_ptr"]), given.constant("RATIO"))}
        assert outside(wrong, reference("memory/bit_view", given)) > 0.9 * wrong["y_ptr"].size


def test_bits_of_special_numbers() -> None:
    """Negative zero, subnormals and the extremes, by their well-known patterns."""
    spec = next(s for s in KERNELS["memory/bit_view"].specs if s.name.startswith("bf16"))
    values = np.array([-0.0, 2.0**-133, 1.0, -1.0, np.inf])
    expected = reference("memory/bit_view", Situation(spec, {"x_ptr": values}))
    assert expected["y_ptr"].value.tolist() == [-32768, 1, 0x3F80, -0x8000 + 0x3F80, 0x7F80]


def test_a_missing_replica_lies_outside() -> None:
    name = "warp_specialisation/replicas"
    for spec in KERNELS[name].specs:
        given = situation(name, spec)
        wrong = {"y_ptr": given.x["x_ptr"].copy()}  # every replica believes to be the first
        assert outside(wrong, reference(name, given)) >= wrong["y_ptr"].size / 4
