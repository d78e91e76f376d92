"""Every CTA reports its place in its cluster."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def cluster_ids(y_ptr, BLOCK: tl.constexpr, WITH_SIZE: tl.constexpr):
    """y[p, i] = 1000 * (rank in the cluster) + 100 * (cluster size, if wanted) + i."""
    program = tl.program_id(0) + tl.num_programs(0) * tl.program_id(1)
    lane = tl.arange(0, BLOCK)
    place = 1000 * tlx.cluster_cta_rank()
    if WITH_SIZE:
        place += 100 * tlx.cluster_size_1d()
    tl.store(y_ptr + program * BLOCK + lane, place + lane)
