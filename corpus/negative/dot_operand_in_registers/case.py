"""async_dot with an operand in registers where shared memory is required: refused by both sides.

A side that accepts it hands a register tensor to an instruction that reads memory.
"""

from harness.case import Kernel, Spec


def _spec(left: bool, target: str) -> Spec:
    return Spec(
        name="left" if left else "right",
        signature={"x_ptr": "*fp16", "y_ptr": "*fp32"},
        constexprs={"BLOCK": 64, "LEFT": left},
        divisible_by_16=("x_ptr", "y_ptr"),
        options={"num_warps": 4},
        targets=(target,),
    )


KERNEL = Kernel(
    function="dot_operand_in_registers",
    targets=("cuda:90", "cuda:100"),
    primary=("cuda:90",),
    specs=[_spec(True, "cuda:100"), _spec(False, "cuda:90")],
    expect="refuse",
)
