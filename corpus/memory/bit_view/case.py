"""local_reinterpret to another element type, also to twice as many halves: a conversion instead
of a view, or a wrong element width, gives other integers."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec

INTEGERS = {"i32": np.dtype("<i4"), "i16": np.dtype("<i2")}


def _spec(dtype: str, out: str, ratio: int, block: int, n: int, warps: int) -> Spec:
    return Spec(
        name=f"{dtype}-{out}-{block}-w{warps}",
        signature={"x_ptr": f"*{dtype}", "y_ptr": f"*{out}", "n": "i32"},
        constexprs={"BLOCK": block, "RATIO": ratio},
        divisible_by_16=("x_ptr", "y_ptr"),
        options={"num_warps": warps},
        problem={"n": n},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    n = problem["n"]
    return Launch(
        grid=(-(-n // int(str(spec.constexprs["BLOCK"]))), 1, 1),
        arguments={
            # float64 does not carry a NaN's payload into the reference.
            "x_ptr": Input((n,), spec.signature["x_ptr"].removeprefix("*"), specials=False),
            "y_ptr": Output(
                (n * int(str(spec.constexprs["RATIO"])),),
                spec.signature["y_ptr"].removeprefix("*"),
            ),
            "n": Scalar(n),
        },
    )


def _memory(values: FloatArray, dtype: str) -> npt.NDArray[np.generic]:
    """The values as they lie in memory."""
    if dtype == "fp16":
        return values.astype("<f2")
    if dtype == "bf16":  # the upper half of a float32
        return (values.astype("<f4").view("<u4") >> 16).astype("<u2")
    return values.astype("<f4")


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """Bits do not change."""
    memory = _memory(inputs["x_ptr"], spec.signature["x_ptr"].removeprefix("*"))
    bits = memory.view(INTEGERS[spec.signature["y_ptr"].removeprefix("*")])
    return {"y_ptr": Expected(bits.astype(np.float64), 0.0)}


KERNEL = Kernel(
    function="bit_view",
    targets=("cuda:80", "cuda:90", "cuda:100", "hip:gfx942", "hip:gfx950"),
    primary=("cuda:90",),
    specs=[
        _spec("fp32", "i32", 1, 256, 4_321, 4),
        _spec("bf16", "i16", 1, 512, 9_999, 4),
        _spec("fp32", "i16", 2, 256, 3_000, 2),
    ],
    launch=launch,
    reference=reference,
)
