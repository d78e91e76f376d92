"""A small runnable kernel, y = x + 1, and its compilations with given "binaries"."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec
from harness.model import Case, Compilation, Outcome, Target
from harness.store import Store

ROWS, COLUMNS = 6, 50


def _launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    rows, n = problem["rows"], problem["n"]
    return Launch(
        grid=(rows, 1, 1),
        arguments={
            # Not in the order of the kernel's parameters, which is what counts.
            "n": Scalar(n),
            "y_ptr": Output((rows, n), "fp32"),
            "x_ptr": Input((rows, n), "fp32"),
        },
    )


def _reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    value = inputs["x_ptr"] + 1.0
    return {"y_ptr": Expected(value, np.abs(value) * 2.0**-24)}


SPEC = Spec(
    name="fp32",
    signature={"n": "i32", "x_ptr": "*fp32", "y_ptr": "*fp32"},
    constexprs={"BLOCK": 64},
    problem={"rows": ROWS, "n": COLUMNS},
)
KERNEL = Kernel("add_one", ("cuda:90",), (SPEC,), _launch, _reference)
SOURCE = "def add_one(x_ptr, y_ptr, n, BLOCK: tl.constexpr):\n    pass\n"


def make_case(name: str, spec: Spec = SPEC, source: str = SOURCE, arch: str = "90") -> Case:
    """A Case as the corpus would make it."""
    return Case(
        id=f"family/{name}/{spec.name}@cuda:{arch}",
        kernel=f"family/{name}",
        family="family",
        spec=spec.name,
        target=Target("cuda", arch),
        function="add_one",
        folder="",
        virtual_path="kernel.py",
        source=source,
        signature=dict(spec.signature),
        constexprs={},
        divisible_by_16=(),
        options={},
        runnable=True,
    )


def compile_as(
    store: Store, case: Case, role: str, binary: bytes, **metadata: object
) -> Compilation:
    """A compilation whose binary is given."""
    launch = {"name": "add_one", "num_warps": 4, "shared": 0, **metadata}
    return Compilation(
        case=case.id,
        key="",
        role=role,
        fingerprint="",
        outcome=Outcome.OK,
        artifacts={
            "cubin": store.put(binary),
            "metadata": store.put(msgspec.json.encode(launch)),
        },
    )
