"""async_remote_shmem_store to every CTA of the cluster, counted in bytes by each one's mbarrier.

A share sent to the wrong rank, bytes counted twice, or a phase that is off by one: a wrong
maximum, or no end.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec

CLUSTERS = 2


def _spec(dtype: str, block: tuple[int, int], cluster: int, warps: int, n: int) -> Spec:
    return Spec(
        name=f"{dtype}-{block[0]}x{block[1]}-c{cluster}-w{warps}",
        signature={"x_ptr": f"*{dtype}", "y_ptr": f"*{dtype}", "n": "i32"},
        constexprs={"BLOCK_R": block[0], "BLOCK_C": block[1], "STEPS": 5, "CLUSTER": cluster},
        divisible_by_16=("x_ptr", "y_ptr"),
        options={"num_warps": warps, "ctas_per_cga": (cluster, 1, 1)},
        problem={"n": n},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    rows = CLUSTERS * int(spec.constexprs["STEPS"]) * int(spec.constexprs["BLOCK_R"])
    dtype = spec.signature["x_ptr"][1:]
    return Launch(
        grid=(CLUSTERS * int(spec.constexprs["CLUSTER"]), 1, 1),
        arguments={
            "x_ptr": Input((rows, problem["n"]), dtype, specials=False),
            "y_ptr": Output((rows, problem["n"]), dtype),
            "n": Scalar(problem["n"]),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """The maximum is exact. float32 division on NVIDIA is within two ulp (2**-22 relative);
    then one rounding to the result's type. Magnitudes stay at or below one."""
    x = inputs["x_ptr"]
    value = x / np.abs(x).max(axis=1, keepdims=True)
    half_ulp = {"fp32": 0.0, "fp16": 2.0**-11, "bf16": 2.0**-8}[spec.signature["y_ptr"][1:]]
    tiny = 2.0**-25 if spec.signature["y_ptr"] == "*fp16" else 2.0**-126
    return {"y_ptr": Expected(value, (2.0**-22 + 1.001 * half_ulp) * np.abs(value) + tiny)}


KERNEL = Kernel(
    function="cluster_row_share",
    targets=("cuda:90", "cuda:100"),
    primary=("cuda:90",),
    specs=[
        _spec("fp32", (16, 256), 2, 4, n=2 * 256 - 40),
        _spec("bf16", (8, 512), 4, 8, n=4 * 512 - 129),
    ],
    launch=launch,
    reference=reference,
)
