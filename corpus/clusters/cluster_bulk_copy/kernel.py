"""Tiles travel between the shared memories of a cluster in bulk asynchronous copies."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def cluster_bulk_copy(
    x_ptr, y_ptr, BLOCK: tl.constexpr, STEPS: tl.constexpr, CLUSTER: tl.constexpr
):
    """y[p] = 2 * x[the CTA after p in its cluster], STEPS tiles of BLOCK elements each."""
    outbox = tlx.local_alloc((BLOCK,), tlx.dtype_of(x_ptr), tl.constexpr(2))
    inbox = tlx.local_alloc((BLOCK,), tlx.dtype_of(x_ptr), tl.constexpr(2))
    landed = tlx.alloc_barriers(tl.constexpr(2))
    rank = tlx.cluster_cta_rank()
    before = (rank + CLUSTER - 1) % CLUSTER
    first = tl.program_id(0) * (STEPS * BLOCK)
    lane = tl.arange(0, BLOCK)
    # The barriers above are initialised before a peer's copy may complete on one of them.
    tlx.fence_mbarrier_init_cluster()
    tlx.cluster_barrier()
    for step in range(STEPS):
        half = step % 2
        x = tl.load(x_ptr + first + step * BLOCK + lane)
        sent = tlx.local_view(outbox, half)
        received = tlx.local_view(inbox, half)
        bar = tlx.local_view(landed, half)
        tlx.local_store(sent, x + x)
        # The copy reads through the async proxy.
        tlx.fence("async_shared")
        tlx.barrier_expect_bytes(bar, BLOCK * tlx.size_of(tlx.dtype_of(x_ptr)))
        tlx.async_remote_shmem_copy(received, sent, before, bar)
        tlx.barrier_wait(bar, (step // 2) & 1)
        y = tlx.local_load(received)
        tl.store(y_ptr + first + step * BLOCK + lane, y)
        # All have received this step's tile (so every outbox half was read) and taken it out.
        tlx.cluster_barrier()
