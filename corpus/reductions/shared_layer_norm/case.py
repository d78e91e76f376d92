"""Layer normalisation with the row in shared memory: waits with ever fewer groups in flight, then
three passes over the same chunks; a wait too short reads a chunk before it has landed."""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec

CUDA = ("cuda:80", "cuda:90", "cuda:100")
HIP = ("hip:gfx942", "hip:gfx950")
EPSILON = 2.0**-17


def _spec(
    dtype: str, block: int, chunks: int, n: int, warps: int, targets: tuple[str, ...] = CUDA
) -> Spec:
    return Spec(
        name=f"{dtype}-{chunks}x{block}-w{warps}",
        signature={
            "x_ptr": f"*{dtype}",
            "weight_ptr": "*fp32",
            "bias_ptr": "*fp32",
            "y_ptr": "*fp32",
            "n": "i32",
            "epsilon": "fp32",
        },
        constexprs={"BLOCK": block, "CHUNKS": chunks},
        divisible_by_16=(
            *("x_ptr", "weight_ptr", "bias_ptr", "y_ptr"),
            *(("n",) if n % 16 == 0 else ()),
        ),
        options={"num_warps": warps},
        targets=targets,
        problem={"rows": 48, "n": n},
        speed={"rows": 16384, "n": n},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    rows, n = problem["rows"], problem["n"]
    return Launch(
        grid=(rows, 1, 1),
        arguments={
            "x_ptr": Input((rows, n), spec.signature["x_ptr"].removeprefix("*"), specials=False),
            "weight_ptr": Input((n,), "fp32", specials=False),
            "bias_ptr": Input((n,), "fp32", specials=False),
            "y_ptr": Output((rows, n), "fp32"),
            "n": Scalar(n),
            "epsilon": Scalar(EPSILON),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """Forward error, with u = 2^-24 and at most k = tiles + BLOCK additions per sum.

    The mean is off by k u of the mean magnitude and a division (4 u); a deviation by that and its
    own rounding; the variance by twice the deviations' error and its own sum and division. Its
    inverse root takes half of the variance's relative error and 2^-21 for approximate
    instructions; three products and a sum round the result.
    """
    u = 2.0**-24
    x, weight, bias = inputs["x_ptr"], inputs["weight_ptr"], inputs["bias_ptr"]
    block = int(str(spec.constexprs["BLOCK"]))
    k = -(-problem["n"] // block) + block
    mean = x.mean(axis=1, keepdims=True)
    mean_error = 1.01 * (k + 4) * u * np.abs(x).mean(axis=1, keepdims=True)
    deviation = np.abs(x - mean)
    deviation_error = mean_error + u * (deviation + mean_error)
    variance = (deviation**2).mean(axis=1, keepdims=True)
    squares_error = (2 * deviation + deviation_error) * deviation_error
    variance_error = squares_error.mean(axis=1, keepdims=True) + 1.01 * (k + 6) * u * variance
    inverse = 1 / np.sqrt(variance + EPSILON)
    relative = 0.51 * variance_error * inverse**2 + 2.0**-21
    normal = (x - mean) * inverse
    normal_error = deviation_error * inverse * (1 + relative) + np.abs(normal) * (relative + 4 * u)
    value = normal * weight + bias
    bound = np.abs(weight) * normal_error * 1.01 + u * (np.abs(value) + np.abs(normal * weight))
    return {"y_ptr": Expected(value, bound * 1.01)}


KERNEL = Kernel(
    function="shared_layer_norm",
    targets=CUDA + HIP,
    primary=("cuda:90",),
    specs=[
        _spec("fp32", 256, 5, 256 * 4 + 99, 4, targets=CUDA + HIP),
        _spec("fp16", 512, 4, 512 * 4 - 16, 8),
        _spec("bf16", 1024, 2, 2048, 4),
    ],
    launch=launch,
    reference=reference,
)
