"""Row sums over TMA tiles that were prefetched into L2 some tiles ahead of their loads."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def prefetch_rows(
    x_desc,
    sum_ptr,
    M,
    N,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    NUM_BUFFERS: tl.constexpr,
    DISTANCE: tl.constexpr,
    POLICY: tl.constexpr,
    TENSORMAP: tl.constexpr,
):
    """Sum the rows of block ``program_id(0)``, prefetching DISTANCE tiles beyond the ring."""
    tile_bytes: tl.constexpr = BLOCK_M * BLOCK_N * tlx.size_of(tlx.dtype_of(x_desc))
    ring = tlx.local_alloc((BLOCK_M, BLOCK_N), tlx.dtype_of(x_desc), NUM_BUFFERS)
    landed = tlx.alloc_barriers(NUM_BUFFERS)
    if TENSORMAP:
        tlx.prefetch(x_desc, tensormap=True)
    row = tl.program_id(0) * BLOCK_M
    steps = tl.cdiv(N, BLOCK_N)

    for step in tl.static_range(NUM_BUFFERS):
        if step < steps:
            tlx.barrier_expect_bytes(landed[step], tile_bytes)
            tlx.async_descriptor_load(x_desc, ring[step], [row, step * BLOCK_N], landed[step])
    for step in tl.static_range(NUM_BUFFERS, NUM_BUFFERS + DISTANCE):
        tlx.async_descriptor_prefetch_tensor(
            x_desc, [row, step * BLOCK_N], pred=step < steps, eviction_policy=POLICY
        )

    total = tl.zeros((BLOCK_M,), dtype=tl.float32)
    for step in range(steps):
        buffer = step % NUM_BUFFERS
        tlx.barrier_wait(landed[buffer], (step // NUM_BUFFERS) & 1)
        # Elements beyond the tensor were filled with zeros.
        total += tl.sum(tlx.local_load(ring[buffer]).to(tl.float32), 1)
        ahead = step + NUM_BUFFERS
        if ahead < steps:
            tlx.barrier_expect_bytes(landed[buffer], tile_bytes)
            tlx.async_descriptor_load(x_desc, ring[buffer], [row, ahead * BLOCK_N], landed[buffer])
        column = (ahead + DISTANCE) * BLOCK_N
        tlx.async_descriptor_prefetch_tensor(
            x_desc, [row, column], pred=column < N, eviction_policy=POLICY
        )

    rows = row + tl.arange(0, BLOCK_M)
    tl.store(sum_ptr + rows, total, mask=rows < M)
