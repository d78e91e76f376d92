"""local_gather and local_scatter of a permutation: the fork's alone so far, so this
says when the plugin gets them."""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec


def _spec(dtype: str, block: int, stride: int, n: int, warps: int) -> Spec:
    return Spec(
        name=f"{dtype}-{block}-w{warps}",
        signature={
            "x_ptr": f"*{dtype}",
            "gathered_ptr": f"*{dtype}",
            "scattered_ptr": f"*{dtype}",
            "n": "i32",
        },
        constexprs={"BLOCK": block, "STRIDE": stride},
        divisible_by_16=("x_ptr", "gathered_ptr", "scattered_ptr"),
        options={"num_warps": warps},
        problem={"n": n},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    n, block = problem["n"], int(str(spec.constexprs["BLOCK"]))
    dtype = spec.signature["x_ptr"].removeprefix("*")
    return Launch(
        grid=(n // block, 1, 1),
        arguments={
            "x_ptr": Input((n,), dtype),
            "gathered_ptr": Output((n,), dtype),
            "scattered_ptr": Output((n,), dtype),
            "n": Scalar(n),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """Moves bits: no error at all."""
    block, stride = (int(str(spec.constexprs[name])) for name in ("BLOCK", "STRIDE"))
    x = inputs["x_ptr"].reshape(-1, block)
    places = (np.arange(block) * stride + 3) % block
    scattered = np.empty_like(x)
    scattered[:, places] = x
    return {
        "gathered_ptr": Expected(x[:, places].ravel(), 0.0),
        "scattered_ptr": Expected(scattered.ravel(), 0.0),
    }


KERNEL = Kernel(
    function="gather_scatter",
    targets=("cuda:90", "cuda:100"),
    primary=("cuda:90",),
    specs=[_spec("fp32", 256, 5, 256 * 9, 4), _spec("fp16", 1024, 77, 1024 * 5, 8)],
    launch=launch,
    reference=reference,
)
