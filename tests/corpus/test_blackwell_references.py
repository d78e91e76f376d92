"""The references of blackwell, amd, clusters and utilities against computations of another kind,
and against plausible wrong results, which must leave the bounds."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from harness.case import Descriptor, Expected, FloatArray, Input, Kernel, Output, Spec
from harness.corpus import DEFAULT, load_kernel

FAMILIES = ("blackwell", "amd", "clusters", "utilities", "negative")
# Explicit fraction bits and smallest normal exponent.
FORMATS = {
    "fp32": (23, -126),
    "fp16": (10, -14),
    "bf16": (7, -126),
    "fp8e5": (2, -14),
    "fp8e4nv": (3, -6),
}

Case = tuple[Kernel, Spec, dict[str, FloatArray], Mapping[str, Expected]]


def narrow(values: FloatArray, dtype: str) -> FloatArray:
    """``values`` rounded to nearest even in ``dtype``."""
    if dtype.startswith("i"):
        return np.rint(values)
    fraction, smallest = FORMATS[dtype]
    _, exponent = np.frexp(values)
    spacing = 2.0 ** (np.maximum(exponent - 1, smallest) - fraction)
    return np.rint(values / spacing) * spacing


def fill(argument: Input, random: np.random.Generator) -> FloatArray:
    size = math.prod(argument.shape)
    if argument.fill == "index":
        values = np.arange(size, dtype=np.float64)
        values = (values % argument.modulo if argument.modulo else values) + argument.offset
    elif argument.dtype.startswith("i"):
        values = random.integers(-100, 100, size).astype(np.float64)
    else:
        values = narrow(random.standard_normal(size), argument.dtype)
    return values.reshape(argument.shape)


def tensors(kernel: Kernel, spec: Spec, kind: type) -> dict[str, Input | Output]:
    arguments = kernel.launch(spec, spec.problem).arguments
    plain = {n: a.tensor if isinstance(a, Descriptor) else a for n, a in arguments.items()}
    return {name: a for name, a in plain.items() if isinstance(a, kind)}


def case(name: str, index: int = 0) -> Case:
    """The kernel, its specialisation, random inputs and what the reference expects of them."""
    kernel = load_kernel(DEFAULT / name)
    spec = kernel.specs[index]
    random = np.random.default_rng(7)
    inputs = {n: fill(a, random) for n, a in tensors(kernel, spec, Input).items()}
    return kernel, spec, inputs, kernel.reference(spec, spec.problem, inputs)


def accepts(expected: Expected, value: FloatArray) -> bool:
    assert value.shape == expected.value.shape
    return bool(np.all(np.abs(value - expected.value) <= expected.bound))


def runnable() -> list[tuple[str, int]]:
    found = []
    for folder in sorted(path.parent for f in FAMILIES for path in (DEFAULT / f).glob("*/case.py")):
        kernel = load_kernel(folder)
        if kernel.reference is not None:
            name = "/".join(Path(folder).parts[-2:])
            found += [(name, index) for index in range(len(kernel.specs))]
    return found


@pytest.mark.parametrize(("name", "index"), runnable())
def test_reference_covers_every_output(name: str, index: int) -> None:
    kernel, spec, _, expected = case(name, index)
    outputs = tensors(kernel, spec, Output)
    assert set(expected) == set(outputs)
    for output, argument in outputs.items():
        assert expected[output].value.shape == argument.shape
        assert np.all(np.isfinite(expected[output].value))
        assert np.all(np.asarray(expected[output].bound) >= 0)
        assert math.prod(argument.shape) * 4 <= 4 << 20


def test_negative_kernels_expect_refusal() -> None:
    folders = sorted(path.parent for path in (DEFAULT / "negative").glob("*/case.py"))
    assert len(folders) >= 6
    assert {load_kernel(folder).expect for folder in folders} == {"refuse"}


GEMMS = {
    "blackwell/tmem_gemm": ("a_ptr", "b_ptr", "c_ptr"),
    "blackwell/ws_tma_gemm": ("a_desc", "b_desc", "c_desc"),
    "blackwell/two_cta_gemm": ("a_desc", "b_desc", "c_ptr"),
    "amd/pipelined_gemm": ("a_ptr", "b_ptr", "c_ptr"),
    "amd/warp_pipeline_gemm": ("a_ptr", "b_ptr", "c_ptr"),
}


@pytest.mark.parametrize(
    ("name", "index"), [(n, i) for n, i in runnable() if n in GEMMS], ids=lambda v: str(v)
)
def test_gemm(name: str, index: int) -> None:
    kernel, spec, inputs, results = case(name, index)
    left, right, result = GEMMS[name]
    a, b, expected = inputs[left], inputs[right], results[result]
    dtype = tensors(kernel, spec, Output)[result].dtype
    random = np.random.default_rng(1)
    for _ in range(20):
        i, j = random.integers(a.shape[0]), random.integers(b.shape[1])
        # Products of narrow types are exact in float64, and fsum adds exactly.
        exact = math.fsum(x * y for x, y in zip(a[i], b[:, j], strict=True))
        assert expected.value[i, j] == pytest.approx(exact, abs=1e-11)

    def through(a: FloatArray, b: FloatArray) -> FloatArray:
        single = a.astype(np.float32) @ b.astype(np.float32)
        return narrow(single.astype(np.float64), dtype)

    assert accepts(expected, through(a, b))
    block = int(spec.constexprs["BLOCK_K"])
    assert not accepts(expected, through(a[:, block:], b[block:]))  # the first K step lost
    assert not accepts(expected, through(a[:, :-16], b[:-16]))  # a piece of the tail lost
    shifted = np.roll(b, block, axis=0)
    assert not accepts(expected, through(a, shifted))  # tiles of different steps multiplied


def test_tmem_columns() -> None:
    _, spec, inputs, results = case("blackwell/tmem_columns", 1)
    a, b = inputs["a_ptr"], inputs["b_ptr"]
    part = int(spec.constexprs["SLICE"])
    value = np.empty((a.shape[0], b.shape[1]))
    for number, first in enumerate(range(0, b.shape[1], part)):
        value[:, first : first + part] = (number + 1) * (a @ b[:, first : first + part])
    assert accepts(results["c_ptr"], narrow(value, "bf16"))
    assert not accepts(results["c_ptr"], np.roll(value, part, axis=1))
    assert not accepts(results["c_ptr"], a @ b)


def test_pinned_store() -> None:
    kernel, _, inputs, results = case("amd/pinned_store")
    a, b = inputs["a_ptr"], inputs["b_ptr"]
    value = np.stack([sum(np.outer(t[:, i], b[i]) for i in range(b.shape[0])) for t in a])
    assert accepts(results["c_ptr"], narrow(value, "fp16"))
    assert not accepts(results["c_ptr"], narrow(a[:, :, :-16] @ b[:-16], "fp16"))
    assert not accepts(results["c_ptr"], value[:, ::-1])
    assert kernel.targets == ("hip:gfx942", "hip:gfx950")


def test_chained_dot() -> None:
    _, spec, inputs, results = case("blackwell/chained_dot")
    q, k, v = (inputs[name] for name in ("q_ptr", "k_ptr", "v_ptr"))
    block = int(spec.constexprs["BLOCK_N"])

    def stepped(relu: bool, lag: int) -> FloatArray:
        total = np.zeros((q.shape[0], v.shape[1]), np.float32)
        for first in range(0, len(k), block):
            score = (q @ k[first : first + block].T).astype(np.float32)
            weight = narrow(np.maximum(score, 0) if relu else score, "fp16")
            values = np.roll(v, lag * block, axis=0)[first : first + block]
            total += (weight @ values).astype(np.float32)
        return total.astype(np.float64)

    expected = results["o_ptr"]
    assert accepts(expected, stepped(relu=True, lag=0))
    assert not accepts(expected, stepped(relu=False, lag=0))
    assert not accepts(expected, stepped(relu=True, lag=1))


@pytest.mark.parametrize("index", [0, 1])
def test_scaled_dot(index: int) -> None:
    _, _, inputs, results = case("blackwell/scaled_dot", index)
    a, b = inputs["a_ptr"], inputs["b_ptr"]
    a_bytes, b_bytes = inputs["a_exponents_ptr"], inputs["b_exponents_ptr"]
    expected = results["c_ptr"]

    def element(p: int, m: int, n: int, packed: Callable[[int, int], int]) -> float:
        terms = []
        for step in range(a.shape[1]):
            for k in range(128):
                left = a[p, step, m, k] * 2.0 ** a_bytes[p, step, packed(m, k // 32)]
                exponent = b_bytes[step, n // 128, packed(n % 128, k // 32)]
                terms.append(left * b[step, k, n] * 2.0**exponent)
        return math.fsum(terms)

    def right(row: int, group: int) -> int:
        return row % 32 * 16 + row // 32 * 4 + group

    def row_major(row: int, group: int) -> int:
        return row * 4 + group

    wrong = 0
    for p, m, n in ((0, 0, 0), (1, 77, 100), (0, 127, 127), (1, 33, b.shape[2] - 1)):
        value, bound = expected.value[p, m, n], np.asarray(expected.bound)[p, m, n]
        assert element(p, m, n, right) == pytest.approx(value, abs=1e-9)
        wrong += abs(element(p, m, n, row_major) - value) > bound
    assert wrong == 2  # rows 0 and 127 are packed alike in both


def test_tmem_roundtrip() -> None:
    _, spec, inputs, results = case("blackwell/tmem_roundtrip")
    x, block = inputs["x_ptr"], int(spec.constexprs["BLOCK_N"])

    def carried(behind: int) -> FloatArray:
        value = np.empty_like(x)
        for column in range(x.shape[1]):
            source = column - behind * block
            value[:, column] = 2 * x[:, column] + (x[:, source] if source >= 0 else 0.0)
        return narrow(value, "fp32")

    assert accepts(results["y_ptr"], carried(1))
    assert not accepts(results["y_ptr"], carried(2))
    assert not accepts(results["y_ptr"], 2 * x)


def test_clc_tiles() -> None:
    _, spec, inputs, results = case("blackwell/clc_tiles", 1)
    x, block = inputs["x_ptr"], int(spec.constexprs["BLOCK"])
    assert accepts(results["y_ptr"], x + x)
    assert accepts(results["z_ptr"], -(x + x) - (x + x))
    lost = x + x
    lost[-(x.size % block) :] = 0
    assert not accepts(results["y_ptr"], lost)


@pytest.mark.parametrize("index", [0, 1])
def test_mxfp8_gemm(index: int) -> None:
    _, _, inputs, results = case("blackwell/mxfp8_gemm", index)
    a, b = inputs["a_desc"], inputs["b_desc"]
    scales = inputs["a_scale_desc"], inputs["b_scale_desc"]
    expected = results["c_desc"]

    def factor(packed: FloatArray, row: int, k: int, order: Callable[[int, int], int]) -> float:
        block = packed[0, row // 128, k // 128].reshape(512)
        return 2.0 ** (block[order(row % 128, k % 128 // 32)] - 127)

    def element(m: int, n: int, order: Callable[[int, int], int]) -> float:
        return math.fsum(
            a[m, k] * factor(scales[0], m, k, order) * b[n, k] * factor(scales[1], n, k, order)
            for k in range(a.shape[1])
        )

    wrong = 0
    for m, n in ((0, 0), (77, 100), (130, 127), (a.shape[0] - 1, b.shape[0] - 1)):
        value = element(m, n, lambda row, group: row % 32 * 16 + row // 32 * 4 + group)
        assert value == pytest.approx(expected.value[m, n], rel=1e-12, abs=1e-9)
        other = element(m, n, lambda row, group: row * 4 + group)
        wrong += abs(other - expected.value[m, n]) > np.asarray(expected.bound)[m, n]
    assert wrong >= 2  # scales read in another order


@pytest.mark.parametrize("index", [0, 1])
def test_mxfp8_quantise(index: int) -> None:
    _, spec, inputs, results = case("blackwell/mxfp8_quantise", index)
    dtype = spec.signature["q_ptr"][1:]
    largest = {"fp8e4nv": 448.0, "fp8e5": 57344.0}[dtype]
    groups = inputs["x_ptr"].reshape(-1, 32)

    def quantised(down: int) -> tuple[FloatArray, FloatArray]:
        exponents = np.full(len(groups), -127.0)
        for row, group in enumerate(groups):
            while max(map(abs, group)) / 2.0 ** exponents[row] > largest:
                exponents[row] += 1
        exponents -= down
        scaled = np.clip(groups / 2.0 ** exponents[:, None], -largest, largest)
        shape = inputs["x_ptr"].shape
        return narrow(scaled, dtype).reshape(shape), exponents.reshape(*shape[:2], -1) + 127

    values, exponents = quantised(0)
    assert accepts(results["q_ptr"], values)
    assert accepts(results["scale_ptr"], exponents)
    values, exponents = quantised(1)  # a scale rounded down, which saturates
    assert not accepts(results["q_ptr"], values)
    assert not accepts(results["scale_ptr"], exponents)


def test_clc_steps_and_lone_cta() -> None:
    _, spec, inputs, results = case("blackwell/clc_steps")
    x, block = inputs["x_ptr"], int(spec.constexprs["BLOCK"])
    assert accepts(results["y_ptr"], x + x)
    lost = x + x
    lost[block : 2 * block] = 0
    assert not accepts(results["y_ptr"], lost)
    _, spec, inputs, results = case("clusters/lone_cta")
    tiles = inputs["x_ptr"]
    assert accepts(results["y_ptr"], np.array([[list(tile) for tile in steps] for steps in tiles]))
    assert not accepts(results["y_ptr"], np.roll(tiles, 1, axis=1))  # a rank that is not 0


def test_peer_commit() -> None:
    _, _, inputs, results = case("clusters/peer_commit")
    a, b, expected = inputs["a_ptr"], inputs["b_ptr"], results["c_ptr"]
    for p, m, n in ((0, 0, 0), (1, 33, 60), (a.shape[0] - 1, 63, 1)):
        terms = [x * y for step in range(a.shape[1]) for x, y in zip(a[p, step, m], b[step, :, n],
                 strict=True)]  # fmt: skip
        assert math.fsum(terms) == pytest.approx(expected.value[p, m, n], abs=1e-10)
    early = sum(a[:, step] @ b[step] for step in range(a.shape[1] - 1))
    assert not accepts(expected, early)  # read before the last product was done


@pytest.mark.parametrize("index", [0, 1])
def test_prefetch_ahead(index: int) -> None:
    _, _, inputs, results = case("utilities/prefetch_ahead", index)
    rows = np.stack([inputs["x_ptr"][int(row)] for row in inputs["index_ptr"]])
    assert accepts(results["y_ptr"], rows)
    assert not accepts(results["y_ptr"], np.roll(rows, 1, axis=0))


def test_buffer_axpy() -> None:
    for index, dtype in enumerate(("fp32", "fp16", "bf16")):
        _, _, inputs, results = case("amd/buffer_axpy", index)
        x, y = inputs["x_ptr"].astype(np.float32), inputs["y_ptr"].astype(np.float32)
        twice_rounded = (np.float32(0.75) * x + y).astype(np.float64)
        expected = results["z_ptr"]
        assert accepts(expected, narrow(twice_rounded, dtype))
        assert accepts(expected, narrow(0.75 * inputs["x_ptr"] + inputs["y_ptr"], dtype))
        assert not accepts(expected, narrow(twice_rounded * (1 + 2.0**-6), dtype))
        tail = narrow(twice_rounded, dtype)
        tail[-1] = 0
        assert not accepts(expected, tail)


def test_buffer_gather_and_to_local() -> None:
    _, _, inputs, results = case("amd/buffer_gather")
    table, index = inputs["table_ptr"], inputs["index_ptr"]
    rows = np.stack([table[int(i)] for i in index])
    assert accepts(results["out_ptr"], rows)
    assert not accepts(results["out_ptr"], np.roll(rows, 1, axis=0))
    _, spec, inputs, results = case("amd/buffer_to_local", 1)
    half = int(spec.constexprs["BLOCK"]) // 2
    x = inputs["x_ptr"]
    swapped = np.concatenate([x[..., half:], x[..., :half]], axis=-1)
    assert accepts(results["y_ptr"], swapped)
    assert not accepts(results["y_ptr"], np.roll(swapped, 1, axis=1))


def test_warp_pipeline_sum() -> None:
    _, spec, inputs, results = case("amd/warp_pipeline_sum")
    x, block = inputs["x_ptr"], int(spec.constexprs["BLOCK"])
    one_by_one = np.zeros(len(x), np.float32)
    for column in x.T.astype(np.float32):
        one_by_one += column
    assert accepts(results["y_ptr"], one_by_one.astype(np.float64))
    exact = np.array([math.fsum(row) for row in x])
    assert accepts(results["y_ptr"], exact)
    assert not accepts(results["y_ptr"], x[:, block:].sum(axis=1))  # the first step lost
    assert not accepts(results["y_ptr"], x[:, : -(x.shape[1] % block)].sum(axis=1))  # or the tail


def test_idle_barriers() -> None:
    _, spec, inputs, results = case("amd/idle_barriers")
    x, block = inputs["x_ptr"], int(spec.constexprs["BLOCK"])
    mirrored = np.concatenate([x[i : i + block][::-1] for i in range(0, x.size, block)])
    assert accepts(results["y_ptr"], mirrored)
    assert not accepts(results["y_ptr"], x)
    assert not accepts(results["y_ptr"], x[::-1])


def test_cluster_ids() -> None:
    kernel = load_kernel(DEFAULT / "clusters/cluster_ids")
    spec = kernel.specs[2]
    expected = kernel.reference(spec, spec.problem, {})["y_ptr"]
    # Clusters of 2 x 3: program (x=3, y=4) is at (1, 1) of its cluster.
    assert expected.value[4, 3, 10] == 1000 * (1 + 2 * 1) + 600 + 10
    assert expected.value[0, 1, 0] == 1600
    assert not accepts(expected, expected.value - 1000)


def test_cluster_shift_and_bulk_copy() -> None:
    for name, towards, factor in (("cluster_shift", -1, 1), ("cluster_bulk_copy", 1, 2)):
        _, spec, inputs, results = case(f"clusters/{name}", 1)
        size = int(spec.constexprs["CLUSTER"])
        x = inputs["x_ptr"].reshape(-1, size, inputs["x_ptr"].size // (3 * size))
        y = np.empty_like(x)
        for rank in range(size):
            y[:, rank] = factor * x[:, (rank + towards) % size]
        expected = results["y_ptr"]
        assert accepts(expected, y.reshape(expected.value.shape))
        assert not accepts(expected, factor * inputs["x_ptr"])


def test_cluster_row_share() -> None:
    _, spec, inputs, results = case("clusters/cluster_row_share", 1)
    x, share = inputs["x_ptr"], int(spec.constexprs["BLOCK_C"])
    largest = np.maximum.reduce(
        [np.abs(x[:, i : i + share]).max(axis=1) for i in range(0, x.shape[1], share)]
    )
    single = (x.astype(np.float32) / largest[:, None].astype(np.float32)).astype(np.float64)
    assert accepts(results["y_ptr"], narrow(single, "bf16"))
    # The maximum of the first CTA's columns only.
    wrong = x / np.abs(x[:, :share]).max(axis=1, keepdims=True)
    assert not accepts(results["y_ptr"], narrow(wrong, "bf16"))


def test_cluster_leader() -> None:
    _, _, inputs, results = case("clusters/cluster_leader", 1)
    x = inputs["x_ptr"]
    y = np.zeros(results["y_ptr"].value.shape)
    for c, s, r in np.ndindex(y.shape):
        y[c, s, r] = sum(x[c, :, s].sum(axis=1)) + r
    assert accepts(results["y_ptr"], y)
    assert not accepts(results["y_ptr"], np.roll(y, 1, axis=1))
    assert results["parts_ptr"].value[1, 2, -1] == y[1, 2, 0]


@pytest.mark.parametrize("index", range(4))
def test_stochastic_cast(index: int) -> None:
    _, spec, inputs, results = case("utilities/stochastic_cast", index)
    dtype = spec.signature["y_ptr"][1:]
    x, expected = inputs["x_ptr"], results["y_ptr"]
    nearest = narrow(x, dtype)
    fraction, smallest = FORMATS[dtype]
    spacing = 2.0 ** (np.maximum(np.frexp(x)[1] - 1, smallest) - fraction)
    other = np.where(nearest > x, nearest - spacing, np.where(nearest < x, nearest + spacing, x))
    assert accepts(expected, nearest)
    assert accepts(expected, other)
    assert not accepts(expected, nearest + 2 * spacing * np.sign(x))
    assert not accepts(expected, np.roll(nearest, 1))


def test_stochastic_cast_saturates() -> None:
    kernel = load_kernel(DEFAULT / "utilities/stochastic_cast")
    spec = next(spec for spec in kernel.specs if spec.name.startswith("fp8e4nv"))
    inputs = {"x_ptr": np.array([0.0, 1e9, -1e9, 2.0**-12]), "bits_ptr": np.zeros(4)}
    expected = kernel.reference(spec, spec.problem, inputs)["y_ptr"]
    assert expected.value.tolist() == [0.0, 448.0, -448.0, 2.0**-12]
    assert np.asarray(expected.bound).tolist() == [0.0, 0.0, 0.0, 2.0**-9]


def test_thread_ids_ballot_and_extremes() -> None:
    kernel = load_kernel(DEFAULT / "utilities/thread_ids")
    first, second = kernel.specs[:2]
    assert kernel.reference(first, {}, {})["y_ptr"].value[3, 17] == 3017
    assert kernel.reference(second, {}, {})["y_ptr"].value[3, 17] == 3000

    _, _, inputs, results = case("utilities/ballot_bits")
    x = inputs["x_ptr"]
    for i in (0, 31, 32, 700, x.size - 1):
        bits = sum(1 << j for j, v in enumerate(x[i - i % 32 :][:32]) if v > 0)
        assert results["y_ptr"].value[i] == bits - (bits >> 31 << 32)

    for index, function in enumerate((max, lambda v: max(map(abs, v)), min)):
        _, _, inputs, results = case("utilities/warp_extremes", index)
        x = inputs["x_ptr"]
        value = np.array([function(x[i - i % 32 :][:32]) for i in range(x.size)])
        assert accepts(results["y_ptr"], value)
        assert not accepts(results["y_ptr"], np.roll(value, 16))


def test_replica_copy() -> None:
    _, spec, inputs, results = case("utilities/replica_copy", 1)
    x, block = inputs["x_ptr"], int(spec.constexprs["BLOCK"])
    y = np.zeros(results["y_ptr"].value.shape)
    for start in range(0, x.shape[1], block):
        piece = slice(start, start + block)
        y[:, 0, piece] = x[:, piece] + x[:, piece]
    y[:, 1, start:] = -x[:, start:]
    assert accepts(results["y_ptr"], y)
    y[:, 0, block : 2 * block] = 0  # the second replica did nothing
    assert not accepts(results["y_ptr"], y)


@pytest.mark.parametrize("index", range(3))
def test_fp8_unpack(index: int) -> None:
    _, spec, inputs, results = case("utilities/fp8_unpack", index)
    packed, plain = (spec.signature[name][1:] for name in ("x_ptr", "y_ptr"))
    scale = {"fp8e4nv": 448.0, "fp8e5": 57344.0}
    x = inputs["x_ptr"].astype(np.float32)
    product = x * np.float32(1 / scale[packed])
    expected = results["y_ptr"]
    assert accepts(expected, narrow(product.astype(np.float64), plain))
    other = scale["fp8e5" if packed == "fp8e4nv" else "fp8e4nv"]
    assert not accepts(expected, narrow((x / other).astype(np.float64), plain))


def test_sums_clock_and_bulk_store() -> None:
    _, _, inputs, results = case("utilities/last_block_sum")
    assert results["sum_ptr"].value[0] == sum(int(v) for v in inputs["x_ptr"])
    assert results["parts_ptr"].value.sum() == results["sum_ptr"].value[0]
    assert not accepts(
        results["sum_ptr"], results["sum_ptr"].value - results["parts_ptr"].value[-1]
    )

    for index in range(2):
        _, spec, inputs, results = case("utilities/clock_window", index)
        y = inputs["x_ptr"].astype(np.float32)
        previous = y
        for _ in range(int(spec.constexprs["CHAIN"])):
            previous, y = y, np.float32(0.5) * y + np.float32(1)
        assert accepts(results["y_ptr"], y.astype(np.float64))
        if index == 0:  # the longer chain has converged
            assert not accepts(results["y_ptr"], previous.astype(np.float64))

    _, _, inputs, results = case("utilities/fenced_bulk_store", 1)
    x = inputs["x_ptr"]
    y = np.stack([narrow(x[:, s] * (s + 1), "fp16") for s in range(x.shape[1])], axis=1)
    assert accepts(results["y_ptr"], y)
    stale = y.copy()
    stale[:, 2] = y[:, 0]  # the buffer's former contents were sent
    assert not accepts(results["y_ptr"], stale)


def test_pinned_rows() -> None:
    _, _, inputs, results = case("utilities/pinned_rows")
    x = inputs["x_ptr"]
    y = np.array([[v - max(row) for v in row] for row in x])
    assert accepts(results["y_ptr"], narrow(y, "fp32"))
    assert not accepts(results["y_ptr"], x - x.max(axis=0))
