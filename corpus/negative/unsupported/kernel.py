"""One TLX operation at a time, with as little beside it as it needs."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def unsupported(x_ptr, y_ptr, OPERATION: tl.constexpr):
    """Y = x for one tile of 64 x 64, by way of OPERATION."""
    row = tl.arange(0, 64)
    tile = row[:, None] * 64 + row[None, :]
    x = tl.load(x_ptr + tile)
    if OPERATION == "alloc_warp_barrier":
        ring = tlx.alloc_warp_barrier(tl.constexpr(1), num_warps=4)
        tlx.barrier_arrive(ring[0], 1)
        tlx.barrier_wait(ring[0], 0)
    elif OPERATION == "async_dot":
        a = tlx.local_alloc((64, 64), tl.float16, tl.constexpr(1))
        tlx.local_store(a[0], x.to(tl.float16))
        x = tlx.async_dot(a[0], a[0])
    elif OPERATION == "async_dot_wait":
        x = tlx.async_dot_wait(0, x)
    elif OPERATION == "async_store":
        line = tlx.local_alloc((64,), tl.float32, tl.constexpr(1))
        tlx.async_store(y_ptr, line[0], 256)
    elif OPERATION == "allocate_tensor_descriptor":
        space = tlx.allocate_tensor_descriptor(1)
        tlx.make_tensor_descriptor(space[0], x_ptr, [64, 64], [64, tl.constexpr(1)], [64, 64])
        desc = tlx.reinterpret_tensor_descriptor(space[0], [64, 64], tl.float32)
        x = desc.load([0, 0])
    elif OPERATION == "async_descriptor_load":
        desc = tl.make_tensor_descriptor(x_ptr, [64, 64], [64, 1], [64, 64])
        bars = tlx.alloc_barriers(tl.constexpr(1))
        buffer = tlx.local_alloc((64, 64), tl.float32, tl.constexpr(1))
        tlx.async_descriptor_load(desc, buffer[0], [0, 0], bars[0])
    elif OPERATION == "async_descriptor_prefetch_tensor":
        desc = tl.make_tensor_descriptor(x_ptr, [64, 64], [64, 1], [64, 64])
        tlx.async_descriptor_prefetch_tensor(desc, [0, 0])
    elif OPERATION == "async_descriptor_store":
        desc = tl.make_tensor_descriptor(y_ptr, [64, 64], [64, 1], [64, 64])
        buffer = tlx.local_alloc((64, 64), tl.float32, tl.constexpr(1))
        tlx.async_descriptor_store(desc, buffer[0], [0, 0])
    elif OPERATION == "async_descriptor_store_wait":
        tlx.async_descriptor_store_wait(0)
    elif OPERATION == "async_tasks":
        with tlx.async_tasks():
            with tlx.async_task("default"):
                tl.store(x_ptr, 0.0)
            with tlx.async_task(num_warps=4, replicate=2):
                tl.store(x_ptr + 1 + tlx.async_task_replica_id(), 0.0)
    elif OPERATION == "barrier_wait":
        bars = tlx.alloc_barriers(tl.constexpr(1))
        tlx.barrier_arrive(bars[0])
        tlx.barrier_wait(bars[0], 0)
    elif OPERATION == "barrier_expect_bytes":
        bars = tlx.alloc_barriers(tl.constexpr(1))
        tlx.barrier_expect_bytes(bars[0], 16)
    elif OPERATION == "buffer_load":
        x = tlx.buffer_load(x_ptr, tile)
    elif OPERATION == "buffer_load_to_local":
        buffer = tlx.local_alloc((64, 64), tl.float32, tl.constexpr(1))
        tlx.buffer_load_to_local(buffer[0], x_ptr, tile)
        x = tlx.local_load(buffer[0])
    elif OPERATION == "buffer_store":
        tlx.buffer_store(x, y_ptr, tile)
    elif OPERATION == "clc_create_context":
        context = tlx.clc_create_context(num_consumers=1)
        tlx.clc_producer(context, 1)
        x += tlx.clc_consumer(context, 0)
    elif OPERATION == "clc_responses":
        responses = tlx._alloc_clc_responses(tl.constexpr(1))
        bars = tlx.alloc_barriers(tl.constexpr(1))
        tlx._clc_issue(responses[0], bars[0])
        tlx._clc_query(responses[0])
    elif OPERATION == "clock64":
        x += tlx.clock64().to(tl.float32)
    elif OPERATION == "cluster_barrier":
        tlx.cluster_barrier()
    elif OPERATION == "cluster_cta_rank":
        x += tlx.cluster_cta_rank()
    elif OPERATION == "cluster_size_1d":
        x += tlx.cluster_size_1d()
    elif OPERATION == "fence":
        tlx.fence("gpu")
    elif OPERATION == "fence_async_shared":
        tlx.fence_async_shared()
    elif OPERATION == "named_barrier_arrive":
        tlx.named_barrier_arrive(10, 256)
    elif OPERATION == "named_barrier_wait":
        tlx.named_barrier_wait(10, 128)
    elif OPERATION == "prefetch":
        tlx.prefetch(x_ptr + tile)
    elif OPERATION == "remote_shmem_store":
        buffer = tlx.local_alloc((64, 64), tl.float32, tl.constexpr(1))
        tlx.remote_shmem_store(buffer[0], x, 1)
    elif OPERATION == "async_remote_shmem_store":
        bars = tlx.alloc_barriers(tl.constexpr(1))
        buffer = tlx.local_alloc((64, 64), tl.float32, tl.constexpr(1))
        tlx.async_remote_shmem_store(buffer[0], x, 1, bars[0])
    elif OPERATION == "remote_view":
        bars = tlx.alloc_barriers(tl.constexpr(1))
        tlx.barrier_arrive(tlx.remote_view(bars[0], 1))
    elif OPERATION == "reuse_group":
        spec = tlx.storage_alias_spec(storage=tlx.storage_kind.smem)
        a = tlx.local_alloc((64, 64), tl.float32, tl.constexpr(1), reuse=spec)
        b = tlx.local_alloc((64, 64), tl.int32, tl.constexpr(1), reuse=spec)
        spec.set_buffer_overlap(tlx.reuse_group(a, b, group_type=tlx.reuse_group_type.shared))
        tlx.local_store(a[0], x)
        x = tlx.local_load(a[0])
    elif OPERATION == "stoch_round":
        x = tlx.stoch_round(x, tl.float16, tl.full((64, 64), 1, tl.uint32)).to(tl.float32)
    elif OPERATION == "tcgen05_commit":
        bars = tlx.alloc_barriers(tl.constexpr(1))
        tlx.tcgen05_commit(bars[0])
    elif OPERATION == "thread_id":
        x += tlx.thread_id(0)
    elif OPERATION == "tensor_memory":
        encoding: tl.constexpr = tlx.tensor_memory_layout_encoding(64, 64, 1, 1, 1)
        buffer = tlx.local_alloc(
            (64, 64), tl.float32, tl.constexpr(1), tlx.storage_kind.tmem, layout=encoding
        )
        x = tlx.local_load(tlx.local_view(buffer, 0))
    elif OPERATION == "subslice":
        buffer = tlx.local_alloc((64, 64), tl.float32, tl.constexpr(1))
        tlx.local_store(buffer[0], x)
        half = tlx.local_load(tlx.subslice(buffer[0], 0, 32))
        tl.store(y_ptr + row[:, None] * 32 + tl.arange(0, 32)[None, :], half)
    elif OPERATION == "tmem_copy":
        buffer = tlx.local_alloc((64, 64), tl.float32, tl.constexpr(1))
        tlx.tmem_copy(buffer[0], buffer[0])
    elif OPERATION == "to_mxfp8_block":
        data, scales = tlx._to_mxfp8_block(x, 32, tl.float8e4nv)
        x = data.to(tl.float32)
        tl.store(y_ptr + row[:, None] * 2 + tl.arange(0, 2)[None, :], scales)
    elif OPERATION == "async_dot_scaled":
        a = tlx.local_alloc((64, 64), tl.float8e5, tl.constexpr(1))
        s = tlx.local_alloc((64, 2), tl.uint8, tl.constexpr(1))
        c = tlx.local_alloc((64, 64), tl.float32, tl.constexpr(1))
        tlx.async_dot_scaled(a[0], a[0], c[0], s[0], "e5m2", s[0], "e5m2")
    elif OPERATION == "vote_ballot_sync":
        x += tlx.vote_ballot_sync(0xFFFFFFFF, x > 0).to(tl.float32)
    elif OPERATION == "register_layout":
        encoding: tl.constexpr = tlx.DummyRegisterLayoutEncoding([64, 64], tl.float32)
        x = tlx.require_layout(x, encoding)
    elif OPERATION == "warp_pipeline_stage":
        for _ in tl.range(0, 4):
            with tlx.warp_pipeline_stage("read"):
                x += tl.load(x_ptr + tile)
            with tlx.warp_pipeline_stage("add"):
                x += 1.0
    elif OPERATION == "warp_redux":
        x = tlx.warp_redux(x, "max")
    tl.store(y_ptr + tile, x)
