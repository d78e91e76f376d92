"""barrier_expect_bytes with cp.async.bulk: too few bytes and the consumer reads a tile before it
has landed, too many and it waits for ever."""

from collections.abc import Mapping

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec

ROWS = 32
BYTES = {"fp32": 4, "fp16": 2}


def _spec(dtype: str, buffers: int, block: int, n: int, warps: int) -> Spec:
    return Spec(
        name=f"{dtype}-{buffers}x{block}-w{warps}",
        signature={"x_ptr": f"*{dtype}", "y_ptr": f"*{dtype}", "n": "i32"},
        constexprs={"BLOCK": block, "NUM_BUFFERS": buffers, "BYTES": block * BYTES[dtype]},
        # Rows are whole multiples of 16 elements: bulk copies need 16-byte aligned addresses.
        divisible_by_16=("x_ptr", "y_ptr", "n"),
        options={"num_warps": warps},
        problem={"n": n},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    dtype = spec.signature["x_ptr"].removeprefix("*")
    shape = (ROWS, problem["n"])
    return Launch(
        grid=(ROWS, 1, 1),
        arguments={
            "x_ptr": Input(shape, dtype),
            "y_ptr": Output(shape, dtype),
            "n": Scalar(problem["n"]),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """Negation is exact."""
    return {"y_ptr": Expected(-inputs["x_ptr"], 0.0)}


KERNEL = Kernel(
    function="bulk_expect",
    targets=("cuda:90", "cuda:100"),
    primary=("cuda:90",),
    specs=[
        _spec("fp32", 2, 128, 128 * 6 + 48, 4),
        _spec("fp16", 3, 1024, 1024 * 5 + 272, 4),
    ],
    launch=launch,
    reference=reference,
)
