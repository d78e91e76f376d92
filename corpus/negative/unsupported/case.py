"""TLX operations on architectures that do not have them: refused by both sides.

A side that compiles one has left it out, or made something else of it. Each operation stands
alone, so that what is said is said of it: the coverage page shows these words.
"""

from harness.case import Kernel, Spec

AMPERE, HOPPER, BLACKWELL = "cuda:80", "cuda:90", "cuda:100"
NVIDIA = (AMPERE, HOPPER, BLACKWELL)
AMD = ("hip:gfx942", "hip:gfx950")

# Where no other kernel takes an operation. Names of two or three operations that need each
# other: those of tensor memory, of cluster launch control, of descriptors in global memory.
OPERATIONS = {
    "alloc_warp_barrier": AMD,
    "allocate_tensor_descriptor": (AMPERE, *AMD),
    "async_descriptor_load": (AMPERE, *AMD),
    "async_descriptor_prefetch_tensor": (AMPERE, *AMD),
    "async_descriptor_store": (AMPERE, *AMD),
    "async_descriptor_store_wait": (AMPERE, *AMD),
    "async_dot": (AMPERE, *AMD),
    "async_dot_scaled": (AMPERE, HOPPER, *AMD),
    "async_dot_wait": (AMPERE, BLACKWELL, *AMD),
    "async_remote_shmem_store": (AMPERE, *AMD),
    "async_store": (AMPERE, *AMD),
    "async_tasks": AMD,
    "barrier_expect_bytes": (AMPERE, *AMD),
    "barrier_wait": AMD,
    "buffer_load": NVIDIA,
    "buffer_load_to_local": NVIDIA,
    "buffer_store": NVIDIA,
    "clc_create_context": (AMPERE, HOPPER, *AMD),
    "clc_responses": (AMPERE, HOPPER, *AMD),
    "clock64": (AMPERE, *AMD),
    "cluster_barrier": (AMPERE, *AMD),
    "cluster_cta_rank": AMD,
    "cluster_size_1d": (AMPERE, *AMD),
    "fence": AMD,
    "fence_async_shared": (AMPERE, *AMD),
    "named_barrier_arrive": AMD,
    "named_barrier_wait": AMD,
    "prefetch": AMD,
    "register_layout": (*NVIDIA, *AMD),
    "remote_shmem_store": (AMPERE, *AMD),
    "remote_view": (AMPERE, *AMD),
    "reuse_group": AMD,
    "stoch_round": (AMPERE, HOPPER, *AMD),
    "subslice": (AMPERE, HOPPER, *AMD),
    "tcgen05_commit": (AMPERE, HOPPER, *AMD),
    "tensor_memory": AMD,
    "tmem_copy": (AMPERE, HOPPER, *AMD),
    "to_mxfp8_block": (AMPERE, HOPPER, *AMD),
    "vote_ballot_sync": (AMPERE, *AMD),
    "warp_pipeline_stage": NVIDIA,
    "warp_redux": (AMPERE, HOPPER, *AMD),
}


def _spec(operation: str, targets: tuple[str, ...]) -> Spec:
    return Spec(
        name=operation,
        signature={"x_ptr": "*fp32", "y_ptr": "*fp32"},
        constexprs={"OPERATION": operation},
        divisible_by_16=("x_ptr", "y_ptr"),
        targets=targets,
    )


KERNEL = Kernel(
    function="unsupported",
    targets=(*NVIDIA, *AMD),
    specs=[_spec(operation, targets) for operation, targets in OPERATIONS.items()],
    expect="refuse",
)
