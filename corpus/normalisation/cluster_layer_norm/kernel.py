"""Layer norm of rows too long for one CTA: a cluster shares sums through distributed memory."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def share(part, landed, parts, rank, CLUSTER: tl.constexpr, ASYNC: tl.constexpr):
    """The sum of every CTA's ``part``, for each CTA; ``parts`` has a slot for each of them."""
    tlx.local_store(parts[rank], part)
    for peer in tl.static_range(CLUSTER):
        if peer != rank:
            if ASYNC:
                tlx.async_remote_shmem_store(parts[rank], part, peer, landed)
            else:
                tlx.remote_shmem_store(parts[rank], part, peer)
    if ASYNC:
        tlx.barrier_wait(landed, 0)
    else:
        tlx.cluster_barrier()
    total = tlx.local_load(parts[0])
    for peer in tl.static_range(1, CLUSTER):
        total += tlx.local_load(parts[peer])
    return total


@triton.jit
def cluster_layer_norm(
    x_ptr,
    gamma_ptr,
    beta_ptr,
    y_ptr,
    mean_ptr,
    rstd_ptr,
    M,
    N,
    eps,
    ROWS: tl.constexpr,
    COLS: tl.constexpr,
    CLUSTER: tl.constexpr,
    ASYNC: tl.constexpr,
):
    """Normalise ROWS rows of N <= CLUSTER * COLS elements; CTA r has the r-th COLS columns."""
    rank = tlx.cluster_cta_rank()
    row = tl.program_id(0) // CLUSTER * ROWS + tl.arange(0, ROWS)
    col = rank * COLS + tl.arange(0, COLS)
    mask = (row < M)[:, None] & (col < N)[None, :]
    offsets = row[:, None] * N + col[None, :]

    # Slots for two rounds: a fast CTA's second part must not overwrite a first one in use.
    sums = tlx.local_alloc((ROWS,), tl.float32, CLUSTER)
    squares = tlx.local_alloc((ROWS,), tl.float32, CLUSTER)
    landed = tlx.alloc_barriers(2)
    if ASYNC:
        tlx.barrier_expect_bytes(landed[0], (CLUSTER - 1) * ROWS * 4)
        tlx.barrier_expect_bytes(landed[1], (CLUSTER - 1) * ROWS * 4)
    # Peers' barriers exist and their programs run before anything is sent to them.
    tlx.cluster_barrier()

    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    mean = share(tl.sum(x, 1), landed[0], sums, rank, CLUSTER, ASYNC) / N
    deviation = tl.where(mask, x - mean[:, None], 0.0)
    square = tl.sum(deviation * deviation, 1)
    variance = share(square, landed[1], squares, rank, CLUSTER, ASYNC) / N
    rstd = tl.math.rsqrt(variance + eps)

    gamma = tl.load(gamma_ptr + col, mask=col < N, other=0.0).to(tl.float32)
    beta = tl.load(beta_ptr + col, mask=col < N, other=0.0).to(tl.float32)
    y = deviation * rstd[:, None] * gamma[None, :] + beta[None, :]
    tl.store(y_ptr + offsets, y.to(tlx.dtype_of(y_ptr)), mask=mask)
    if rank == 0:
        tl.store(mean_ptr + row, mean, mask=row < M)
        tl.store(rstd_ptr + row, rstd, mask=row < M)
    # A CTA's memory must outlive the stores of its peers.
    tlx.cluster_barrier()
