"""Layer norm over clusters of 2 to 4 CTAs: remote stores with cluster barriers or mbarriers.

A store to the wrong CTA or slot, a missing cluster barrier or a wrong byte count leaves a CTA
with a sum that lacks a part, or waiting for ever.
"""

from collections.abc import Mapping

import numpy as np

from harness.case import Expected, FloatArray, Input, Kernel, Launch, Output, Scalar, Spec

EPS = float(np.float32(1e-5))
ROUNDING = {"fp16": (2.0**-11, 2.0**-25), "bf16": (2.0**-8, 0.0), "fp32": (2.0**-24, 0.0)}


def _spec(
    dtype: str, rows: int, cols: int, cluster: int, asynchronous: bool, m: int, n: int, hints: bool
) -> Spec:
    return Spec(
        name=f"{dtype}-{rows}x{cols}-c{cluster}-{'async' if asynchronous else 'sync'}",
        signature={
            "x_ptr": f"*{dtype}",
            "gamma_ptr": f"*{dtype}",
            "beta_ptr": f"*{dtype}",
            "y_ptr": f"*{dtype}",
            "mean_ptr": "*fp32",
            "rstd_ptr": "*fp32",
            "M": "i32",
            "N": "i32",
            "eps": "fp32",
        },
        constexprs={"ROWS": rows, "COLS": cols, "CLUSTER": cluster, "ASYNC": asynchronous},
        divisible_by_16=("x_ptr", "gamma_ptr", "beta_ptr", "y_ptr", "N") if hints else (),
        options={"num_warps": 4, "ctas_per_cga": (cluster, 1, 1)},
        problem={"m": m, "n": n},
        speed={"m": 16384, "n": n},
    )


def launch(spec: Spec, problem: Mapping[str, int]) -> Launch:
    m, n = problem["m"], problem["n"]
    dtype = spec.signature["x_ptr"][1:]
    rows, cluster = int(spec.constexprs["ROWS"]), int(spec.constexprs["CLUSTER"])
    return Launch(
        grid=(-(-m // rows) * cluster, 1, 1),
        arguments={
            "x_ptr": Input((m, n), dtype, specials=False),
            "gamma_ptr": Input((n,), dtype, specials=False),
            "beta_ptr": Input((n,), dtype, specials=False),
            "y_ptr": Output((m, n), dtype),
            "mean_ptr": Output((m,), "fp32"),
            "rstd_ptr": Output((m,), "fp32"),
            "M": Scalar(m),
            "N": Scalar(n),
            "eps": Scalar(EPS),
        },
    )


def reference(
    spec: Spec, problem: Mapping[str, int], inputs: Mapping[str, FloatArray]
) -> dict[str, Expected]:
    """Layer norm, y = (x - mean) rstd gamma + beta; u = 2**-24.

    A sum of N terms in any order errs by N u sum(|terms|). So the mean errs by (N + 2) u
    mean|x|, a deviation by that and u (|x| + |mean|), the variance by what the deviations'
    errors make of their squares and (N + 4) u of itself, rstd relatively by at most half the
    variance's relative error (doubled here for the higher orders) and 2**-21 for rsqrt.
    """
    x, gamma, beta = inputs["x_ptr"], inputs["gamma_ptr"], inputs["beta_ptr"]
    n, u = x.shape[1], 2.0**-24
    unit, tiny = ROUNDING[spec.signature["y_ptr"][1:]]
    mean = x.mean(axis=1, keepdims=True)
    mean_error = (n + 2) * u * np.abs(x).mean(axis=1, keepdims=True)
    deviation = x - mean
    deviation_error = mean_error + u * (np.abs(x) + np.abs(mean) + mean_error)
    variance = (deviation**2).mean(axis=1, keepdims=True)
    variance_error = (2 * np.abs(deviation) * deviation_error + deviation_error**2).mean(
        axis=1, keepdims=True
    )
    variance_error = variance_error + (n + 4) * u * (variance + variance_error)
    rstd = 1 / np.sqrt(variance + EPS)
    relative = variance_error / (variance + EPS) + 2.0**-21
    scaled = deviation * rstd * gamma
    error = np.abs(gamma) * rstd * (deviation_error + np.abs(deviation) * relative)
    error = error * (1 + relative) + 4 * u * (np.abs(scaled) + np.abs(beta))
    value = scaled + beta
    return {
        "y_ptr": Expected(value, error + unit * (np.abs(value) + error) + tiny),
        "mean_ptr": Expected(mean[:, 0], mean_error[:, 0]),
        "rstd_ptr": Expected(rstd[:, 0], (rstd * relative)[:, 0]),
    }


KERNEL = Kernel(
    function="cluster_layer_norm",
    targets=("cuda:90", "cuda:100"),
    primary=("cuda:90",),
    specs=[
        _spec("fp32", 4, 1024, 2, False, 13, 1024 + 333, False),
        _spec("fp16", 2, 2048, 4, True, 7, 2048 * 3 + 816, True),
        _spec("bf16", 8, 512, 2, True, 21, 512 + 448, True),
    ],
    launch=launch,
    reference=reference,
)
