"""vote_ballot_sync over a tensor of predicates, with a ragged last warp.

A vote made by fewer lanes, or a layout with several elements per thread, changes the bits.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec


def _spec(dtype: str, warps: int, hints: bool = True) -> Spec:
    return Spec(
        name=f"{dtype}-w{warps}" + ("" if hints else "-unaligned"),
        signature={
            "x_ptr": f"*{dtype}",
            "limit": "fp32" if dtype == "fp32" else "i32",
            "y_ptr": "*i32",
            "n": "i32",
        },
        constexprs={"WIDTH": warps * 32, "STEPS": 5},
        divisible_by_16=("x_ptr", "y_ptr") if hints else (),
        options={"num_warps": warps},
        problem={"n": 32 * warps * 8 + 45},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    n = problem["n"]
    chunk = int(spec.constexprs["WIDTH"]) * int(spec.constexprs["STEPS"])
    return Launch(
        grid=(-(-n // chunk), 1, 1),
        arguments={
            "x_ptr": Input((n,), spec.signature["x_ptr"][1:]),
            "limit": Scalar(0),
            "y_ptr": Output((n,), "i32"),
            "n": Scalar(n),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """Bit j of a group's mask is its element j's predicate; as a signed int32. Exact."""
    x = inputs["x_ptr"]
    predicates = np.zeros(-(-x.size // 32) * 32, dtype=np.int64)
    predicates[: x.size] = x > 0
    masks = (predicates.reshape(-1, 32) << np.arange(32)).sum(axis=1)
    signed = np.where(masks >= 2**31, masks - 2**32, masks)
    return {"y_ptr": Expected(np.repeat(signed, 32)[: x.size].astype(np.float64), 0.0)}


KERNEL = Kernel(
    function="ballot_bits",
    targets=("cuda:90", "cuda:100"),
    primary=("cuda:90",),
    specs=[_spec("fp32", 4), _spec("i32", 2, hints=False)],
    launch=launch,
    reference=reference,
)
