"""A hand-pipelined GEMM for Blackwell: cp.async feeds shared memory, the sum lives in TMEM."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def tmem_gemm(
    a_ptr,
    b_ptr,
    c_ptr,
    m,
    n,
    k,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    NUM_BUFFERS: tl.constexpr,
):
    """c[m, n] = a[m, k] @ b[k, n], all row-major; one program per tile of c."""
    a_tiles = tlx.local_alloc((BLOCK_M, BLOCK_K), tlx.dtype_of(a_ptr), NUM_BUFFERS)
    b_tiles = tlx.local_alloc((BLOCK_K, BLOCK_N), tlx.dtype_of(b_ptr), NUM_BUFFERS)
    sums = tlx.local_alloc((BLOCK_M, BLOCK_N), tl.float32, tl.constexpr(1), tlx.storage_kind.tmem)
    # consumed[i] completes a phase each time an MMA has finished reading buffer i.
    consumed = tlx.alloc_barriers(NUM_BUFFERS)

    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    a_offsets = rows[:, None] * k + inner[None, :]
    b_offsets = inner[:, None] * n + columns[None, :]
    a_inside = (rows < m)[:, None]
    b_inside = (columns < n)[None, :]
    steps = tl.cdiv(k, BLOCK_K)

    for step in tl.static_range(NUM_BUFFERS - 1):
        left = k - step * BLOCK_K
        a_token = tlx.async_load(
            a_ptr + a_offsets + step * BLOCK_K,
            tlx.local_view(a_tiles, step),
            mask=a_inside & (inner < left)[None, :],
            other=0.0,
        )
        b_token = tlx.async_load(
            b_ptr + b_offsets + step * BLOCK_K * n,
            tlx.local_view(b_tiles, step),
            mask=b_inside & (inner < left)[:, None],
            other=0.0,
        )
        tlx.async_load_commit_group([a_token, b_token])

    sum_tile = tlx.local_view(sums, 0)
    for step in range(steps):
        buffer = step % NUM_BUFFERS
        # Everything but the newest NUM_BUFFERS - 2 groups has landed: this step's tiles too.
        tlx.async_load_wait_group(NUM_BUFFERS - 2)
        # The tensor core reads shared memory through the async proxy.
        tlx.fence("async_shared")
        tlx.async_dot(
            tlx.local_view(a_tiles, buffer),
            tlx.local_view(b_tiles, buffer),
            sum_tile,
            use_acc=step > 0,
            mBarriers=[tlx.local_view(consumed, buffer)],
            out_dtype=tl.float32,
        )
        # The next tiles go where the previous step's were: its MMA must have finished.
        before = step - 1
        tlx.barrier_wait(
            tlx.local_view(consumed, (step + NUM_BUFFERS - 1) % NUM_BUFFERS),
            (before // NUM_BUFFERS) & 1,
            pred=step > 0,
        )
        ahead = step + NUM_BUFFERS - 1
        left = k - ahead * BLOCK_K
        slot = ahead % NUM_BUFFERS
        a_token = tlx.async_load(
            a_ptr + a_offsets + ahead * BLOCK_K,
            tlx.local_view(a_tiles, slot),
            mask=a_inside & (inner < left)[None, :],
            other=0.0,
        )
        b_token = tlx.async_load(
            b_ptr + b_offsets + ahead * BLOCK_K * n,
            tlx.local_view(b_tiles, slot),
            mask=b_inside & (inner < left)[:, None],
            other=0.0,
        )
        tlx.async_load_commit_group([a_token, b_token])

    last = steps - 1
    tlx.barrier_wait(tlx.local_view(consumed, last % NUM_BUFFERS), (last // NUM_BUFFERS) & 1)
    tlx.async_load_wait_group(0)
    c = tlx.local_load(sum_tile).to(tlx.dtype_of(c_ptr))
    tl.store(c_ptr + rows[:, None] * n + columns[None, :], c, mask=a_inside & b_inside)
