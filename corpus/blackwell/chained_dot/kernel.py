"""Two products in a row; the first one's result is the second one's tensor-memory operand."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def chained_dot(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    n,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    DIM: tl.constexpr,
):
    """O = relu(q @ k.T) @ v: attention without the softmax. q [m, DIM], k and v [n, DIM].

    The scores' registers are narrowed and written back to TMEM, whence the second product
    reads them as its left operand.
    """
    q_tile = tlx.local_alloc((BLOCK_M, DIM), tlx.dtype_of(q_ptr), tl.constexpr(1))
    k_tiles = tlx.local_alloc((BLOCK_N, DIM), tlx.dtype_of(k_ptr), tl.constexpr(2))
    v_tiles = tlx.local_alloc((BLOCK_N, DIM), tlx.dtype_of(v_ptr), tl.constexpr(2))
    scores = tlx.local_alloc((BLOCK_M, BLOCK_N), tl.float32, tl.constexpr(1), tlx.storage_kind.tmem)
    weights = tlx.local_alloc(
        (BLOCK_M, BLOCK_N), tlx.dtype_of(v_ptr), tl.constexpr(1), tlx.storage_kind.tmem
    )
    output = tlx.local_alloc((BLOCK_M, DIM), tl.float32, tl.constexpr(1), tlx.storage_kind.tmem)
    scored = tlx.alloc_barriers(tl.constexpr(1))
    added = tlx.alloc_barriers(tl.constexpr(1))

    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    features = tl.arange(0, DIM)
    lane = tl.arange(0, BLOCK_N)
    token = tlx.async_load(
        q_ptr + rows[:, None] * DIM + features[None, :], tlx.local_view(q_tile, 0)
    )
    tlx.async_load_commit_group([token])
    first = lane[:, None] * DIM + features[None, :]
    k_token = tlx.async_load(k_ptr + first, tlx.local_view(k_tiles, 0))
    v_token = tlx.async_load(v_ptr + first, tlx.local_view(v_tiles, 0))
    tlx.async_load_commit_group([k_token, v_token])

    steps = tl.cdiv(n, BLOCK_N)
    for step in range(steps):
        buffer = step % 2
        tlx.async_load_wait_group(0)
        tlx.fence("async_shared")
        tlx.async_dot(
            tlx.local_view(q_tile, 0),
            tlx.local_trans(tlx.local_view(k_tiles, buffer)),
            tlx.local_view(scores, 0),
            use_acc=False,
            mBarriers=[tlx.local_view(scored, 0)],
            out_dtype=tl.float32,
        )
        tlx.barrier_wait(tlx.local_view(scored, 0), step & 1)
        # The product before has read the weights and the other buffers.
        tlx.barrier_wait(tlx.local_view(added, 0), (step & 1) ^ 1, pred=step > 0)
        ahead = (step + 1) * BLOCK_N + lane
        inside = (ahead < n)[:, None]
        following = ahead[:, None] * DIM + features[None, :]
        k_token = tlx.async_load(
            k_ptr + following, tlx.local_view(k_tiles, 1 - buffer), mask=inside, other=0.0
        )
        v_token = tlx.async_load(
            v_ptr + following, tlx.local_view(v_tiles, 1 - buffer), mask=inside, other=0.0
        )
        tlx.async_load_commit_group([k_token, v_token])
        score = tl.maximum(tlx.local_load(tlx.local_view(scores, 0)), 0.0)
        tlx.local_store(tlx.local_view(weights, 0), score.to(tlx.dtype_of(v_ptr)))
        tlx.async_dot(
            tlx.local_view(weights, 0),
            tlx.local_view(v_tiles, buffer),
            tlx.local_view(output, 0),
            use_acc=step > 0,
            mBarriers=[tlx.local_view(added, 0)],
            out_dtype=tl.float32,
        )
    tlx.barrier_wait(tlx.local_view(added, 0), (steps - 1) & 1)
    tlx.async_load_wait_group(0)
    o = tlx.local_load(tlx.local_view(output, 0))
    tl.store(o_ptr + rows[:, None] * DIM + features[None, :], o)
