"""One block-scaled tile product per step; the scales pass from shared to tensor memory."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def scaled_dot(
    a_ptr,
    a_exponents_ptr,
    b_ptr,
    b_exponents_ptr,
    c_ptr,
    BLOCK_N: tl.constexpr,
    STEPS: tl.constexpr,
    COPY_SCALES: tl.constexpr,
):
    """c[p] = sum over steps s of (a[p, s] * 2**ea) @ (b[s] * 2**eb), tiles 128x128 and 128xN.

    Exponents are bytes, one for each 32 of k, in the tensor core's packing: byte (r % 32) * 16 +
    (r // 32) * 4 + g of a tile's 512 is for row (or column) r, group g. The hardware's e8m0
    bias of 127 is added here.
    """
    a_tile = tlx.local_alloc((128, 128), tlx.dtype_of(a_ptr), tl.constexpr(1))
    b_tile = tlx.local_alloc((128, BLOCK_N), tlx.dtype_of(b_ptr), tl.constexpr(1))
    a_packed = tlx.local_alloc((1, 1, 32, 16), tl.uint8, tl.constexpr(1))
    b_packed = tlx.local_alloc((BLOCK_N // 128, 1, 32, 16), tl.uint8, tl.constexpr(1))
    sums = tlx.local_alloc((128, BLOCK_N), tl.float32, tl.constexpr(1), tlx.storage_kind.tmem)
    done = tlx.alloc_barriers(tl.constexpr(1))
    if COPY_SCALES:
        a_scales = tlx.local_alloc((128, 4), tl.uint8, tl.constexpr(1), tlx.storage_kind.tmem)
        b_scales = tlx.local_alloc((BLOCK_N, 4), tl.uint8, tl.constexpr(1), tlx.storage_kind.tmem)
    row = tl.arange(0, 128)
    column = tl.arange(0, BLOCK_N)
    a_bytes = tl.reshape(tl.arange(0, 512), (1, 1, 32, 16))
    b_bytes = tl.reshape(tl.arange(0, 512 * (BLOCK_N // 128)), (BLOCK_N // 128, 1, 32, 16))
    program = tl.program_id(0)
    FORMAT: tl.constexpr = tlx.get_fp8_format_name(tlx.dtype_of(a_ptr))

    for step in range(STEPS):
        tile = program * STEPS + step
        a = tl.load(a_ptr + tile * (128 * 128) + row[:, None] * 128 + row[None, :])
        b = tl.load(b_ptr + step * (128 * BLOCK_N) + row[:, None] * BLOCK_N + column[None, :])
        a_exponents = tl.load(a_exponents_ptr + tile * 512 + a_bytes)
        b_exponents = tl.load(b_exponents_ptr + step * (4 * BLOCK_N) + b_bytes)
        tlx.local_store(tlx.local_view(a_tile, 0), a)
        tlx.local_store(tlx.local_view(b_tile, 0), b)
        tlx.local_store(tlx.local_view(a_packed, 0), (a_exponents + 127).to(tl.uint8))
        tlx.local_store(tlx.local_view(b_packed, 0), (b_exponents + 127).to(tl.uint8))
        # The tensor core reads shared memory through the async proxy.
        tlx.fence("async_shared")
        if COPY_SCALES:
            tlx.tmem_copy(tlx.local_view(a_packed, 0), tlx.local_view(a_scales, 0))
            tlx.tmem_copy(tlx.local_view(b_packed, 0), tlx.local_view(b_scales, 0))
            left = tlx.local_view(a_scales, 0)
            right = tlx.local_view(b_scales, 0)
        else:
            left = tlx.local_view(a_packed, 0)
            right = tlx.local_view(b_packed, 0)
        tlx.async_dot_scaled(
            tlx.local_view(a_tile, 0),
            tlx.local_view(b_tile, 0),
            tlx.local_view(sums, 0),
            left,
            FORMAT,
            right,
            FORMAT,
            use_acc=step > 0,
            mBarriers=[tlx.local_view(done, 0)],
        )
        # The tiles are overwritten next.
        tlx.barrier_wait(tlx.local_view(done, 0), step & 1)
    c = tlx.local_load(tlx.local_view(sums, 0))
    tl.store(c_ptr + (program * 128 + row)[:, None] * BLOCK_N + column[None, :], c)
