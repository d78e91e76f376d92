"""A GEMM whose tensor-core instructions span the two CTAs of a cluster."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def two_cta_gemm(
    a_desc,
    b_desc,
    c_ptr,
    m,
    n,
    k,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    NUM_BUFFERS: tl.constexpr,
):
    """C = a @ b. Each CTA keeps its BLOCK_M rows of a, half of the pair's BLOCK_N columns of b,
    and the sums of its rows; the even CTA issues the products for both."""
    HALF_N: tl.constexpr = BLOCK_N // 2
    a_tiles = tlx.local_alloc((BLOCK_M, BLOCK_K), tlx.dtype_of(a_desc), NUM_BUFFERS)
    b_tiles = tlx.local_alloc((BLOCK_K, HALF_N), tlx.dtype_of(b_desc), NUM_BUFFERS)
    sums = tlx.local_alloc((BLOCK_M, BLOCK_N), tl.float32, tl.constexpr(1), tlx.storage_kind.tmem)
    filled = tlx.alloc_barriers(NUM_BUFFERS)
    # In the even CTA: both CTAs' tiles are there.
    paired = tlx.alloc_barriers(NUM_BUFFERS, arrive_count=tl.constexpr(2))
    # In each CTA: the product that reads buffer i is done.
    drained = tlx.alloc_barriers(NUM_BUFFERS)
    rank = tlx.cluster_cta_rank()
    leads = rank == 0
    row = tl.program_id(0) * BLOCK_M
    column = tl.program_id(1) * BLOCK_N
    half = column + rank * HALF_N
    steps = tl.cdiv(k, BLOCK_K)
    tile_bytes: tl.constexpr = (BLOCK_M + HALF_N) * BLOCK_K * tlx.size_of(tlx.dtype_of(a_desc))
    tlx.cluster_barrier()

    for step in tl.static_range(NUM_BUFFERS - 1):
        bar = tlx.local_view(filled, step)
        tlx.barrier_expect_bytes(bar, tile_bytes)
        tlx.async_descriptor_load(a_desc, tlx.local_view(a_tiles, step), [row, step * BLOCK_K], bar)
        tlx.async_descriptor_load(
            b_desc, tlx.local_view(b_tiles, step), [step * BLOCK_K, half], bar
        )

    for step in range(steps):
        buffer = step % NUM_BUFFERS
        phase = (step // NUM_BUFFERS) & 1
        tlx.barrier_wait(tlx.local_view(filled, buffer), phase)
        tlx.barrier_arrive(tlx.local_view(paired, buffer), 1, 0)
        tlx.barrier_wait(tlx.local_view(paired, buffer), phase, pred=leads)
        tlx.async_dot(
            tlx.local_view(a_tiles, buffer),
            tlx.local_view(b_tiles, buffer),
            tlx.local_view(sums, 0),
            use_acc=step > 0,
            two_ctas=True,
            force_async=True,
            out_dtype=tl.float32,
        )
        tlx.tcgen05_commit(tlx.local_view(drained, buffer), two_ctas=True)
        # The tile after the ones under way goes where the previous step's was.
        ahead = step + NUM_BUFFERS - 1
        slot = ahead % NUM_BUFFERS
        tlx.barrier_wait(
            tlx.local_view(drained, slot), ((step - 1) // NUM_BUFFERS) & 1, pred=step > 0
        )
        bar = tlx.local_view(filled, slot)
        more = ahead < steps
        tlx.barrier_expect_bytes(bar, tile_bytes, pred=more)
        tlx.async_descriptor_load(
            a_desc, tlx.local_view(a_tiles, slot), [row, ahead * BLOCK_K], bar, pred=more
        )
        tlx.async_descriptor_load(
            b_desc, tlx.local_view(b_tiles, slot), [ahead * BLOCK_K, half], bar, pred=more
        )

    last = steps - 1
    tlx.barrier_wait(tlx.local_view(drained, last % NUM_BUFFERS), (last // NUM_BUFFERS) & 1)
    rows = row + tl.arange(0, BLOCK_M)
    columns = column + tl.arange(0, BLOCK_N)
    c = tlx.local_load(tlx.local_view(sums, 0)).to(tlx.dtype_of(c_ptr))
    tl.store(
        c_ptr + rows[:, None] * n + columns[None, :],
        c,
        mask=(rows < m)[:, None] & (columns < n)[None, :],
    )
