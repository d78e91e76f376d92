"""A cluster's leader adds up what its CTAs counted; mbarriers carry the turns both ways."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def cluster_leader(
    x_ptr, parts_ptr, y_ptr, BLOCK: tl.constexpr, STEPS: tl.constexpr, CLUSTER: tl.constexpr
):
    """y[c, s, r] = (sum over the cluster of x[c, :, s]) + r, for cluster c, step s, rank r.

    Every CTA tells the leader that its part is written (``reported`` counts them in rank 0),
    and the leader tells every CTA that the total is (``released``, one in each).
    """
    reported = tlx.alloc_barriers(tl.constexpr(1), arrive_count=tl.constexpr(CLUSTER))
    released = tlx.alloc_barriers(tl.constexpr(1))
    rank = tlx.cluster_cta_rank()
    program = tl.program_id(0)
    cluster = program // CLUSTER
    lane = tl.arange(0, BLOCK)
    # The last slot of a cluster's parts is for the total.
    parts = parts_ptr + cluster * STEPS * (CLUSTER + 1)
    tlx.cluster_barrier()

    for step in range(STEPS):
        x = tl.load(x_ptr + (program * STEPS + step) * BLOCK + lane)
        slots = parts + step * (CLUSTER + 1)
        tl.store(slots + rank, tl.sum(x))
        tlx.fence("gpu")
        tlx.barrier_arrive(tlx.local_view(reported, 0), 1, 0)
        if rank == 0:
            tlx.barrier_wait(tlx.local_view(reported, 0), step & 1)
            tlx.fence("gpu")
            total = tl.load(slots, cache_modifier=".cg")
            for other in tl.static_range(1, CLUSTER):
                total += tl.load(slots + other, cache_modifier=".cg")
            tl.store(slots + CLUSTER, total)
            tlx.fence("gpu")
            for other in tl.static_range(CLUSTER):
                tlx.barrier_arrive(tlx.local_view(released, 0), 1, other)
        tlx.barrier_wait(tlx.local_view(released, 0), step & 1)
        tlx.fence("gpu")
        result = tl.load(slots + CLUSTER, cache_modifier=".cg")
        tl.store(y_ptr + (cluster * STEPS + step) * CLUSTER + rank, result + rank)
    # The leader outlives no one: its last arrivals reach CTAs that still wait for them.
