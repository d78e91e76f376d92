"""Tiles shared by the CTAs of a cluster, each loading a part for all by multicast TMA."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def multicast_tile(
    x_desc,
    y_desc,
    K,
    scale_step,
    BLOCK_M: tl.constexpr,
    BLOCK_K: tl.constexpr,
    CLUSTER: tl.constexpr,
    REMOTE_ARRIVE: tl.constexpr,
):
    """CTA r of cluster c writes (1 + r * scale_step) * x, block row c, into slice r of y.

    Every CTA needs the same tiles of x: CTA r loads their r-th horizontal part for all.
    """
    PART: tl.constexpr = BLOCK_M // CLUSTER
    dtype: tl.constexpr = tlx.dtype_of(x_desc)
    # Two buffers of CLUSTER parts each.
    ring = tlx.local_alloc((PART, BLOCK_K), dtype, 2 * CLUSTER)
    staging = tlx.local_alloc((PART, BLOCK_K), dtype, CLUSTER)
    landed = tlx.alloc_barriers(2)
    # Every CTA of the cluster reports here that its copy of a buffer may be overwritten.
    drained = tlx.alloc_barriers(2, arrive_count=CLUSTER)

    rank = tlx.cluster_cta_rank()
    row = tl.program_id(0) // CLUSTER * BLOCK_M
    slice_row = rank * (tl.num_programs(0) // CLUSTER * BLOCK_M) + row
    factor = (1.0 + rank * scale_step).to(tl.float32)
    tlx.cluster_barrier()

    for step in range(tl.cdiv(K, BLOCK_K)):
        buffer = step % 2
        if REMOTE_ARRIVE:
            tlx.barrier_wait(drained[buffer], ((step // 2) & 1) ^ 1)
        tlx.barrier_expect_bytes(landed[buffer], BLOCK_M * BLOCK_K * tlx.size_of(dtype))
        for part in tl.static_range(CLUSTER):
            tlx.async_descriptor_load(
                x_desc,
                ring[buffer * CLUSTER + part],
                [row + part * PART, step * BLOCK_K],
                landed[buffer],
                pred=rank == part,
                multicast_targets=[0, 1],
            )
        tlx.barrier_wait(landed[buffer], (step // 2) & 1)
        tlx.async_descriptor_store_wait(0)
        for part in tl.static_range(CLUSTER):
            value = tlx.local_load(ring[buffer * CLUSTER + part]).to(tl.float32)
            tlx.local_store(staging[part], (value * factor).to(dtype))
        if REMOTE_ARRIVE:
            for peer in tl.static_range(CLUSTER):
                tlx.barrier_arrive(drained[buffer], 1, peer)
        else:
            tlx.cluster_barrier()
        tlx.fence("async_shared")
        for part in tl.static_range(CLUSTER):
            tlx.async_descriptor_store(
                y_desc, staging[part], [slice_row + part * PART, step * BLOCK_K]
            )

    tlx.async_descriptor_store_wait(0)
    # No CTA may leave while a peer can still write to its memory or arrive at its barriers.
    tlx.cluster_barrier()
