"""Tensor descriptors made by the kernel itself, in scratch memory of its own or the compiler's."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def device_descriptor(
    x_ptr,
    y_ptr,
    M,
    N,
    alpha,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    NUM_BUFFERS: tl.constexpr,
    OWN_SCRATCH: tl.constexpr,
):
    """Write y = alpha * x for the rows of block ``program_id(0)``, tile by tile."""
    dtype: tl.constexpr = tlx.dtype_of(x_ptr)
    tile_bytes: tl.constexpr = BLOCK_M * BLOCK_N * tlx.size_of(dtype)
    if OWN_SCRATCH:
        x_space = tlx.allocate_tensor_descriptor(1)
        y_space = tlx.allocate_tensor_descriptor(1)
        tlx.make_tensor_descriptor(x_space[0], x_ptr, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
        tlx.make_tensor_descriptor(y_space[0], y_ptr, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
        x_desc = tlx.reinterpret_tensor_descriptor(x_space[0], [BLOCK_M, BLOCK_N], dtype)
        y_desc = tlx.reinterpret_tensor_descriptor(y_space[0], [BLOCK_M, BLOCK_N], dtype)
    else:
        x_desc = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
        y_desc = tl.make_tensor_descriptor(y_ptr, [M, N], [N, 1], [BLOCK_M, BLOCK_N])

    ring = tlx.local_alloc((BLOCK_M, BLOCK_N), dtype, NUM_BUFFERS)
    staging = tlx.local_alloc((BLOCK_M, BLOCK_N), dtype, 1)
    landed = tlx.alloc_barriers(NUM_BUFFERS)
    row = tl.program_id(0) * BLOCK_M
    steps = tl.cdiv(N, BLOCK_N)

    for step in tl.static_range(NUM_BUFFERS):
        if step < steps:
            tlx.barrier_expect_bytes(landed[step], tile_bytes)
            tlx.async_descriptor_load(x_desc, ring[step], [row, step * BLOCK_N], landed[step])

    for step in range(steps):
        buffer = step % NUM_BUFFERS
        tlx.barrier_wait(landed[buffer], (step // NUM_BUFFERS) & 1)
        value = tlx.local_load(ring[buffer])
        if step + NUM_BUFFERS < steps:
            column = (step + NUM_BUFFERS) * BLOCK_N
            tlx.barrier_expect_bytes(landed[buffer], tile_bytes)
            tlx.async_descriptor_load(x_desc, ring[buffer], [row, column], landed[buffer])
        value = (value.to(tl.float32) * alpha).to(dtype)
        # The one staging buffer is free when the store before has read it.
        tlx.async_descriptor_store_wait(0)
        tlx.local_store(staging[0], value)
        tlx.fence("async_shared")
        tlx.async_descriptor_store(y_desc, staging[0], [row, step * BLOCK_N])

    tlx.async_descriptor_store_wait(0)
