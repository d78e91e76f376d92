"""Two default tasks: a side that accepted them would run one of them never or both twice."""

from harness.case import Kernel, Spec

KERNEL = Kernel(
    function="refused_two_defaults",
    targets=("cuda:90", "cuda:100"),
    specs=[
        Spec(
            name="i32-128",
            signature={"x_ptr": "*i32"},
            constexprs={"BLOCK": 128},
            divisible_by_16=("x_ptr",),
            options={"num_warps": 4},
        )
    ],
    expect="refuse",
)
