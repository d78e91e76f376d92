"""remote_view of a barrier, for tcgen05_commit: each CTA of a pair arrives at the other's.

An arrival that stays in its own CTA ends all the same; one that is lost never does.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Spec

PAIRS = 2


def _spec(dtype: str, block: int) -> Spec:
    return Spec(
        name=f"{dtype}-{block}",
        signature={"a_ptr": f"*{dtype}", "b_ptr": f"*{dtype}", "c_ptr": "*fp32"},
        constexprs={"BLOCK": block, "STEPS": 4},
        divisible_by_16=("a_ptr", "b_ptr", "c_ptr"),
        options={"num_warps": 4, "num_stages": 1, "ctas_per_cga": (2, 1, 1)},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    steps, block = int(spec.constexprs["STEPS"]), int(spec.constexprs["BLOCK"])
    dtype = spec.signature["a_ptr"][1:]
    return Launch(
        grid=(2 * PAIRS, 1, 1),
        arguments={
            "a_ptr": Input((2 * PAIRS, steps, block, block), dtype, specials=False),
            "b_ptr": Input((steps, block, block), dtype, specials=False),
            "c_ptr": Output((2 * PAIRS, block, block), "fp32"),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """Products of float16 are exact in float32; each of the k additions, in any order, loses at
    most 2**-22 of the magnitudes summed (the tensor core may truncate): gamma_k."""
    a, b = inputs["a_ptr"], inputs["b_ptr"]
    value = np.einsum("psmk,skn->pmn", a, b)
    k_u = int(spec.constexprs["STEPS"]) * int(spec.constexprs["BLOCK"]) * 2.0**-22
    bound = k_u / (1 - k_u) * np.einsum("psmk,skn->pmn", np.abs(a), np.abs(b))
    return {"c_ptr": Expected(value, bound)}


KERNEL = Kernel(
    function="peer_commit",
    targets=("cuda:100",),
    specs=[_spec("fp16", 64)],
    launch=launch,
    reference=reference,
)
