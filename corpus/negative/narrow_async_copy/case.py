"""cp.async of single 2-byte (or 1-byte) elements, as the stride is unknown: refused by both sides.

A side that accepts it has silently replaced or widened the copies.
"""

from harness.case import Kernel, Spec


def _spec(dtype: str) -> Spec:
    return Spec(
        name=dtype,
        signature={"x_ptr": f"*{dtype}", "y_ptr": f"*{dtype}", "stride": "i32"},
        constexprs={"BLOCK": 1024},
        divisible_by_16=("x_ptr", "y_ptr"),
        options={"num_warps": 4},
    )


KERNEL = Kernel(
    function="narrow_async_copy",
    targets=("cuda:80", "cuda:90", "cuda:100"),
    primary=("cuda:90",),
    specs=[_spec("fp16"), _spec("i8")],
    expect="refuse",
)
