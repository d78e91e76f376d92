"""Tasks behind compile-time conditions: one source, with and without warp specialisation."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def guarded_tasks(x_ptr, sum_ptr, product_ptr, n, BLOCK: tl.constexpr, HELPERS: tl.constexpr):
    """Add x and x rotated by half a tile; double x by a helper, or by the default task.

    ``HELPERS`` is the number of helping tasks, 0 to 2; the second helper takes over the odd tiles.
    """
    tiles = tl.cdiv(n, BLOCK)
    half: tl.constexpr = BLOCK // 2

    with tlx.async_tasks():
        with tlx.async_task("default"):
            for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
                within = tl.arange(0, BLOCK)
                columns = tile * BLOCK + within
                rotated = tile * BLOCK + (within + half) % BLOCK
                x = tl.load(x_ptr + columns, mask=columns < n, other=0)
                other = tl.load(x_ptr + rotated, mask=rotated < n, other=0)
                tl.store(sum_ptr + columns, x + other, mask=columns < n)
                if HELPERS == 0:
                    tl.store(product_ptr + columns, x * 2, mask=columns < n)
        if HELPERS == 1:
            with tlx.async_task(num_warps=4):
                for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
                    columns = tile * BLOCK + tl.arange(0, BLOCK)
                    x = tl.load(x_ptr + columns, mask=columns < n, other=0)
                    tl.store(product_ptr + columns, x * 2, mask=columns < n)
        if HELPERS == 2:
            with tlx.async_task(num_warps=4):
                for tile in range(tl.program_id(0), tiles, 2 * tl.num_programs(0)):
                    columns = tile * BLOCK + tl.arange(0, BLOCK)
                    x = tl.load(x_ptr + columns, mask=columns < n, other=0)
                    tl.store(product_ptr + columns, x * 2, mask=columns < n)
            with tlx.async_task(num_warps=4):
                start = tl.program_id(0) + tl.num_programs(0)
                for tile in range(start, tiles, 2 * tl.num_programs(0)):
                    columns = tile * BLOCK + tl.arange(0, BLOCK)
                    x = tl.load(x_ptr + columns, mask=columns < n, other=0)
                    tl.store(product_ptr + columns, x * 2, mask=columns < n)
