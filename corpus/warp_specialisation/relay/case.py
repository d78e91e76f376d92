"""Four async tasks in a chain with requested registers: other register counts cost speed, a
mixed-up capture or barrier between the tasks hangs or reorders tiles."""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec

ROWS = 24


def _spec(buffers: int, block: int, n: int, light: int, heavy: int) -> Spec:
    warps = 4
    return Spec(
        name=f"fp32-{buffers}x{block}-w{warps}-r{light}-{heavy}",
        signature={"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"},
        constexprs={
            "BLOCK": block,
            "NUM_BUFFERS": buffers,
            "WARPS": warps,
            "LIGHT": light,
            "HEAVY": heavy,
        },
        divisible_by_16=("x_ptr", "y_ptr", "n") if n % 16 == 0 else ("x_ptr", "y_ptr"),
        options={"num_warps": warps},
        problem={"n": n},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    shape = (ROWS, problem["n"])
    return Launch(
        grid=(ROWS, 1, 1),
        arguments={
            "x_ptr": Input(shape, "fp32", specials=False),
            "y_ptr": Output(shape, "fp32"),
            "n": Scalar(problem["n"]),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """Maximum and doubling are exact; the sum is rounded once, to half an ulp."""
    value = np.maximum(inputs["x_ptr"], 0.0) * 2.0 + 1.0
    return {"y_ptr": Expected(value, value * 2.0**-24)}


KERNEL = Kernel(
    function="relay",
    targets=("cuda:90", "cuda:100"),
    primary=("cuda:90",),
    specs=[_spec(2, 128, 128 * 7 + 41, 40, 88), _spec(3, 256, 256 * 9, 24, 152)],
    launch=launch,
    reference=reference,
)
