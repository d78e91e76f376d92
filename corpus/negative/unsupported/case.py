"""placeholder"""

import re
from pathlib import Path

from harness.case import Kernel, Spec

NAMES = re.findall(r'OPERATION == "(\w+)"', Path(__file__).with_name("kernel.py").read_text())


def _spec(name: str) -> Spec:
    return Spec(
        name=name,
        signature={"x_ptr": "*fp32", "y_ptr": "*fp32"},
        constexprs={"OPERATION": name},
        divisible_by_16=("x_ptr", "y_ptr"),
    )


KERNEL = Kernel(
    function="unsupported",
    targets=("cuda:80", "cuda:90", "cuda:100", "hip:gfx942", "hip:gfx950"),
    specs=[_spec(n) for n in NAMES],
    expect="refuse",
)
