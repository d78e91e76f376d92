"""Layer normalisation of rows, in three passes over global memory: plain Triton, no TLX."""

import triton
import triton.language as tl


@triton.jit
def layer_norm(x_ptr, weight_ptr, bias_ptr, y_ptr, n, epsilon, BLOCK: tl.constexpr):
    """Compute (x - mean) / sqrt(variance + epsilon) * weight + bias of row ``program_id(0)``."""
    row = tl.program_id(0) * n

    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row + columns, mask=columns < n, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / n

    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + columns, mask=columns < n, other=0.0).to(tl.float32)
        deviation = tl.where(columns < n, x - mean, 0.0)
        total += deviation * deviation
    scale = 1.0 / tl.sqrt(tl.sum(total, axis=0) / n + epsilon)

    for start in range(0, n, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        inside = columns < n
        x = tl.load(x_ptr + row + columns, mask=inside, other=0.0).to(tl.float32)
        weight = tl.load(weight_ptr + columns, mask=inside, other=0.0)
        bias = tl.load(bias_ptr + columns, mask=inside, other=0.0)
        tl.store(y_ptr + row + columns, (x - mean) * scale * weight + bias, mask=inside)
