"""Grouped GEMM with descriptors remade on the device for each group, in own or automatic scratch.

A stale descriptor (lost fence, wrong slot) reads or writes another group's rows; only the
descriptor's height keeps a ragged tile from overwriting the next group.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec

ROUNDING = {"fp16": (2.0**-11, 2.0**-25), "bf16": (2.0**-8, 0.0), "fp32": (2.0**-24, 0.0)}


def _spec(
    operand: str,
    tile: tuple[int, int, int],
    buffers: int,
    own: bool,
    warps: int,
    hints: bool,
    problem: Mapping[str, int],
) -> Spec:
    block_m, block_n, block_k = tile
    return Spec(
        name=f"{operand}-{block_m}x{block_n}x{block_k}-b{buffers}-{'own' if own else 'auto'}",
        signature={"a_ptr": f"*{operand}", "b_ptr": f"*{operand}", "c_ptr": f"*{operand}"}
        | dict.fromkeys(("groups", "first_m", "more_m", "N", "K"), "i32"),
        constexprs={
            "BLOCK_M": block_m,
            "BLOCK_N": block_n,
            "BLOCK_K": block_k,
            "NUM_BUFFERS": buffers,
            "OWN_SCRATCH": own,
        },
        divisible_by_16=("a_ptr", "b_ptr", "c_ptr", "N", "K") if hints else (),
        options={"num_warps": warps},
        problem=problem,
        speed={"groups": 8, "first_m": 256, "more_m": 160, "N": 2048, "K": 2048, "programs": 132},
    )


def _heights(problem: Mapping[str, int]) -> list[int]:
    return [problem["first_m"] + g * problem["more_m"] for g in range(problem["groups"])]


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    n, k, groups = problem["N"], problem["K"], problem["groups"]
    rows = sum(_heights(problem))
    operand = spec.signature["a_ptr"][1:]
    return Launch(
        grid=(problem["programs"], 1, 1),
        arguments={
            "a_ptr": Input((rows, k), operand, specials=False),
            "b_ptr": Input((groups, k, n), operand, specials=False),
            "c_ptr": Output((rows, n), operand),
            "groups": Scalar(groups),
            "first_m": Scalar(problem["first_m"]),
            "more_m": Scalar(problem["more_m"]),
            "N": Scalar(n),
            "K": Scalar(k),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """C[g] = A[g] B[g], group by group.

    Products of two 16-bit floats are exact in float32; the tensor core truncates each product
    and each sum by at most 2**-23 of the largest addend, hence 2K 2**-23 |A||B| in any order,
    and the result is rounded once to the output type.
    """
    a, b = inputs["a_ptr"], inputs["b_ptr"]
    parts = np.split(a, np.cumsum(_heights(problem))[:-1])
    value = np.concatenate([x @ y for x, y in zip(parts, b, strict=True)])
    size = np.concatenate([np.abs(x) @ np.abs(y) for x, y in zip(parts, b, strict=True)])
    unit, tiny = ROUNDING[spec.signature["c_ptr"][1:]]
    summing = 2 * a.shape[1] * 2.0**-23 * size
    return {"c_ptr": Expected(value, summing + unit * (np.abs(value) + summing) + tiny)}


def _problem(
    groups: int, first_m: int, more_m: int, n: int, k: int, programs: int
) -> dict[str, int]:
    names = ("groups", "first_m", "more_m", "N", "K", "programs")
    return dict(zip(names, (groups, first_m, more_m, n, k, programs), strict=True))


KERNEL = Kernel(
    function="grouped_gemm",
    targets=("cuda:90",),
    specs=[
        _spec("fp16", (64, 128, 64), 3, False, 4, True, _problem(4, 37, 50, 144, 336, 3)),
        _spec("bf16", (128, 64, 64), 4, False, 8, False, _problem(3, 100, 61, 72, 376, 2)),
        _spec("fp16", (64, 64, 64), 3, True, 4, True, _problem(5, 20, 33, 80, 304, 3)),
    ],
    launch=launch,
    reference=reference,
)
