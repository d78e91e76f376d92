"""Programs that have finished their tile take over those of programs not yet launched."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def _scale_tile(x_ptr, y_ptr, tile, n, factor, BLOCK: tl.constexpr):
    offsets = tile * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(y_ptr + offsets, factor * x, mask=offsets < n)


@triton.jit
def clc_tiles(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr, TWO_TASKS: tl.constexpr):
    """Y = 2 * x and z = -4 * x, one tile of BLOCK elements per program of the grid.

    Cluster launch control cancels a waiting program's launch and hands its tile to the caller.
    With TWO_TASKS, y and z are left to two async tasks, both told of each tile.
    """
    if TWO_TASKS:
        control = tlx.clc_create_context(num_consumers=2)
        with tlx.async_tasks():
            with tlx.async_task("default"):
                tile = tl.program_id(0)
                producer_phase = 1
                consumer_phase = 0
                while tile != -1:
                    tlx.clc_producer(control, producer_phase)
                    producer_phase ^= 1
                    _scale_tile(x_ptr, y_ptr, tile, n, 2.0, BLOCK)
                    tile = tlx.clc_consumer(control, consumer_phase)
                    consumer_phase ^= 1
            with tlx.async_task(num_warps=4):
                tile = tl.program_id(0)
                consumer_phase = 0
                while tile != -1:
                    _scale_tile(x_ptr, z_ptr, tile, n, -4.0, BLOCK)
                    tile = tlx.clc_consumer(control, consumer_phase)
                    consumer_phase ^= 1
    else:
        control = tlx.clc_create_context(num_consumers=1)
        tile = tl.program_id(0)
        producer_phase = 1
        consumer_phase = 0
        while tile != -1:
            # Ask for the next tile, then work on this one.
            tlx.clc_producer(control, producer_phase)
            producer_phase ^= 1
            _scale_tile(x_ptr, y_ptr, tile, n, 2.0, BLOCK)
            _scale_tile(x_ptr, z_ptr, tile, n, -4.0, BLOCK)
            tile = tlx.clc_consumer(control, consumer_phase)
            consumer_phase ^= 1
