"""Tensor memory on Ampere and Hopper: refused by both sides.

A side that accepts it finds out in the assembler, or on the GPU.
"""

from harness.case import Kernel, Spec


def _spec(dtype: str) -> Spec:
    return Spec(
        name=dtype,
        signature={"x_ptr": f"*{dtype}", "y_ptr": f"*{dtype}"},
        constexprs={"BLOCK": 64},
        divisible_by_16=("x_ptr", "y_ptr"),
        options={"num_warps": 4},
    )


KERNEL = Kernel(
    function="tmem_before_blackwell",
    targets=("cuda:80", "cuda:90"),
    primary=("cuda:90",),
    specs=[_spec("fp32")],
    expect="refuse",
)
