"""barrier_wait on another CTA's mbarrier: refused by both sides.

A side that accepts it waits for its own barrier instead, or traps.
"""

from harness.case import Kernel, Spec


def _spec(dtype: str) -> Spec:
    return Spec(
        name=dtype,
        signature={"x_ptr": f"*{dtype}", "y_ptr": f"*{dtype}"},
        constexprs={"BLOCK": 256},
        divisible_by_16=("x_ptr", "y_ptr"),
        options={"num_warps": 4, "ctas_per_cga": (2, 1, 1)},
    )


KERNEL = Kernel(
    function="remote_wait",
    targets=("cuda:90", "cuda:100"),
    primary=("cuda:90",),
    specs=[_spec("fp32")],
    expect="refuse",
)
