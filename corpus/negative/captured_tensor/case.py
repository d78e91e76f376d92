"""A register tensor used across async tasks: refused by both sides.

A side that accepts it gives a task registers that no thread of its own has set.
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
    function="captured_tensor",
    targets=("cuda:90", "cuda:100"),
    primary=("cuda:90",),
    specs=[_spec("fp32")],
    expect="refuse",
)
