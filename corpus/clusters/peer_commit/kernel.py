"""Tensor core commits that arrive at another CTA's barrier, addressed by remote_view."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def peer_commit(a_ptr, b_ptr, c_ptr, BLOCK: tl.constexpr, STEPS: tl.constexpr):
    """C[p] = the sum over steps of a[p, step] @ b[step], BLOCK x BLOCK each.

    Two CTAs go in step: each tells the other, not itself, that its product is done, and goes on
    when it has been told.
    """
    a_tile = tlx.local_alloc((BLOCK, BLOCK), tlx.dtype_of(a_ptr), tl.constexpr(1))
    b_tile = tlx.local_alloc((BLOCK, BLOCK), tlx.dtype_of(b_ptr), tl.constexpr(1))
    sums = tlx.local_alloc((BLOCK, BLOCK), tl.float32, tl.constexpr(1), tlx.storage_kind.tmem)
    mine = tlx.alloc_barriers(tl.constexpr(1))
    told = tlx.alloc_barriers(tl.constexpr(1))
    peers = tlx.remote_view(tlx.local_view(told, 0), tlx.cluster_cta_rank() ^ 1)
    rows = tl.arange(0, BLOCK)
    tile = rows[:, None] * BLOCK + rows[None, :]
    program = tl.program_id(0)
    # Nobody arrives at a barrier that is not yet initialised.
    tlx.cluster_barrier()
    for step in range(STEPS):
        a = tl.load(a_ptr + (program * STEPS + step) * BLOCK * BLOCK + tile)
        tlx.local_store(tlx.local_view(a_tile, 0), a)
        tlx.local_store(tlx.local_view(b_tile, 0), tl.load(b_ptr + step * BLOCK * BLOCK + tile))
        tlx.fence("async_shared")
        tlx.async_dot(
            tlx.local_view(a_tile, 0),
            tlx.local_view(b_tile, 0),
            tlx.local_view(sums, 0),
            use_acc=step > 0,
            mBarriers=[tlx.local_view(mine, 0)],
        )
        tlx.tcgen05_commit(peers)
        tlx.barrier_wait(tlx.local_view(mine, 0), step & 1)
        tlx.barrier_wait(tlx.local_view(told, 0), step & 1)
    c = tlx.local_load(tlx.local_view(sums, 0))
    tl.store(c_ptr + program * BLOCK * BLOCK + tile, c)
    # Nor at one whose CTA has left.
    tlx.cluster_barrier()
