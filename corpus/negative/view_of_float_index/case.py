"""local_view with a float as buffer number: refused by both sides.

A side that accepts it rounds the number, or hands a float to an integer operand.
"""

from harness.case import Kernel, Spec


def _spec(dtype: str) -> Spec:
    return Spec(
        name=dtype,
        signature={"x_ptr": f"*{dtype}", "y_ptr": f"*{dtype}"},
        constexprs={"BLOCK": 256},
        divisible_by_16=("x_ptr", "y_ptr"),
        options={"num_warps": 4},
    )


KERNEL = Kernel(
    function="view_of_float_index",
    targets=("cuda:90", "hip:gfx950"),
    primary=("cuda:90",),
    specs=[_spec("fp32")],
    expect="refuse",
)
