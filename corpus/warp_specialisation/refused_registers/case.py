"""num_regs of no multiple of 8: a side that accepts it grants another number without a word."""

from harness.case import Kernel, Spec

KERNEL = Kernel(
    function="refused_registers",
    targets=("cuda:90", "cuda:100"),
    specs=[
        Spec(
            name="i32-128-r44",
            signature={"x_ptr": "*i32"},
            constexprs={"BLOCK": 128, "REGISTERS": 44},
            divisible_by_16=("x_ptr",),
            options={"num_warps": 4},
        )
    ],
    expect="refuse",
)
