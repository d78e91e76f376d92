"""CTAs of a cluster pass their tiles on to the next rank through its shared memory."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def cluster_shift(x_ptr, y_ptr, n, BLOCK: tl.constexpr, CLUSTER: tl.constexpr):
    """y[p] = x[the CTA before p in its cluster], rows of n elements."""
    received = tlx.local_alloc((BLOCK,), tlx.dtype_of(x_ptr), tl.constexpr(2))
    program = tl.program_id(0)
    following = (tlx.cluster_cta_rank() + 1) % CLUSTER
    lane = tl.arange(0, BLOCK)
    # Nobody writes to a CTA that has not started.
    tlx.cluster_barrier()
    for step in range(tl.cdiv(n, BLOCK)):
        columns = step * BLOCK + lane
        x = tl.load(x_ptr + program * n + columns, mask=columns < n, other=0)
        buffer = tlx.local_view(received, step % 2)
        tlx.remote_shmem_store(buffer, x, following)
        # After it, all have sent this step's tile and read the last one; hence two buffers.
        tlx.cluster_barrier()
        y = tlx.local_load(buffer)
        tl.store(y_ptr + program * n + columns, y, mask=columns < n)
