"""Layer normalisation of a row that is read from global memory once and kept in shared memory."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def shared_layer_norm(
    x_ptr, weight_ptr, bias_ptr, y_ptr, n, epsilon, BLOCK: tl.constexpr, CHUNKS: tl.constexpr
):
    """Compute (x - mean) / sqrt(variance + epsilon) * weight + bias of row ``program_id(0)``.

    ``n`` is at most BLOCK * CHUNKS. Each chunk is a commit group, waited for when first needed.
    """
    chunks = tlx.local_alloc((BLOCK,), tlx.dtype_of(x_ptr), CHUNKS)
    offsets = tl.arange(0, BLOCK)
    row = tl.program_id(0) * n
    for chunk in tl.static_range(CHUNKS):
        columns = chunk * BLOCK + offsets
        token = tlx.async_load(
            x_ptr + row + columns, tlx.local_view(chunks, chunk), mask=columns < n
        )
        tlx.async_load_commit_group([token])

    total = tl.zeros((BLOCK,), tl.float32)
    for chunk in tl.static_range(CHUNKS):
        tlx.async_load_wait_group(CHUNKS - 1 - chunk)
        x = tlx.local_load(tlx.local_view(chunks, chunk)).to(tl.float32)
        total += tl.where(chunk * BLOCK + offsets < n, x, 0.0)
    mean = tl.sum(total, axis=0) / n

    total = tl.zeros((BLOCK,), tl.float32)
    for chunk in tl.static_range(CHUNKS):
        x = tlx.local_load(tlx.local_view(chunks, chunk)).to(tl.float32)
        deviation = tl.where(chunk * BLOCK + offsets < n, x - mean, 0.0)
        total += deviation * deviation
    scale = 1.0 / tl.sqrt(tl.sum(total, axis=0) / n + epsilon)

    for chunk in tl.static_range(CHUNKS):
        columns = chunk * BLOCK + offsets
        inside = columns < n
        weight = tl.load(weight_ptr + columns, mask=inside, other=0.0)
        bias = tl.load(bias_ptr + columns, mask=inside, other=0.0)
        x = tlx.local_load(tlx.local_view(chunks, chunk)).to(tl.float32)
        tl.store(y_ptr + row + columns, (x - mean) * scale * weight + bias, mask=inside)
