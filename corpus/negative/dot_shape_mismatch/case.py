"""async_dot of [64, 32] and [64, 64]: refused by both sides.

A side that accepts it multiplies with half of an operand, or reads past the other.
"""

from harness.case import Kernel, Spec


def _spec(dtype: str) -> Spec:
    return Spec(
        name=dtype,
        signature={"x_ptr": f"*{dtype}", "y_ptr": "*fp32"},
        constexprs={"BLOCK_M": 64, "BLOCK_K": 32},
        divisible_by_16=("x_ptr", "y_ptr"),
        options={"num_warps": 4},
    )


KERNEL = Kernel(
    function="dot_shape_mismatch",
    targets=("cuda:90", "cuda:100"),
    primary=("cuda:90",),
    specs=[_spec("fp16")],
    expect="refuse",
)
