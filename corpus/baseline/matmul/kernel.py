"""Matrix product with tl.dot: plain Triton, no TLX."""

import triton
import triton.language as tl


@triton.jit
def matmul(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """Compute c = a @ b, row-major, one tile of c per program."""
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        inside = (m[:, None] < M) & (k[None, :] < K)
        a = tl.load(a_ptr + m[:, None] * K + k[None, :], mask=inside, other=0.0)
        inside = (k[:, None] < K) & (n[None, :] < N)
        b = tl.load(b_ptr + k[:, None] * N + n[None, :], mask=inside, other=0.0)
        total = tl.dot(a, b, total)
    inside = (m[:, None] < M) & (n[None, :] < N)
    c = total.to(c_ptr.dtype.element_ty)
    tl.store(c_ptr + m[:, None] * N + n[None, :], c, mask=inside)
