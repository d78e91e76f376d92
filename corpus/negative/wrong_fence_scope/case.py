"""fence with a scope that TLX does not have: refused by both sides.

A side that accepts it has to guess the scope, and a weaker one than meant is a race.
"""

from harness.case import Kernel, Spec


def _spec(dtype: str) -> Spec:
    return Spec(
        name=dtype,
        signature={"x_ptr": f"*{dtype}", "y_ptr": f"*{dtype}"},
        constexprs={"BLOCK": 256, "SCOPE": "cluster"},
        divisible_by_16=("x_ptr", "y_ptr"),
        options={"num_warps": 4},
    )


KERNEL = Kernel(
    function="wrong_fence_scope",
    targets=("cuda:90", "cuda:100"),
    primary=("cuda:90",),
    specs=[_spec("fp32")],
    expect="refuse",
)
