"""The CUDA launcher: cubins through the driver's ``cuLaunchKernelEx``."""

from __future__ import annotations

import ctypes
import importlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from harness.errors import HarnessError
from harness.parity import formats
from harness.parity.launcher import LaunchFault, strides
from harness.parity.manifest import (
    DescriptorLayout,
    InputTensor,
    LaunchMetadata,
    OutputTensor,
)
from harness.parity.result import Device, Resources

_PORTABLE_CLUSTER = 8
_DEFAULT_SHARED = 48 << 10
# The GPU waits this long while launches are queued: 1 ms, and more where Python needs more.
_QUEUE_CYCLES = 2_000_000
_MOST_QUEUE_CYCLES = 64_000_000
# Triton's numbers for element types in descriptor metadata are the device's; the host's
# CUtensorMapDataType differs in these.
_HOST_ELEMENT = {8: 10, 9: 8, 10: 9}
# Drivers up to CUDA 13.1 mis-handle descriptors of tensors under 128 KiB unless this bit of
# the encoding's second word is cleared; Triton's own launchers clear it as well.
_SMALL_TENSOR_DRIVER = 13010
_SMALL_TENSOR_BYTES = 128 << 10
_SMALL_TENSOR_BIT = 1 << 21


class CudaLauncher:
    """The current CUDA device. Raises HarnessError where there is no usable one."""

    def __init__(self) -> None:
        try:
            self._driver = importlib.import_module("cuda.bindings.driver")
        except ImportError as error:
            raise HarnessError(
                "cuda-bindings", f"cannot be imported: {error}", "pip install cuda-core"
            ) from error
        if not torch.cuda.is_available():
            raise HarnessError(
                "GPU",
                "torch finds no CUDA device (no GPU, no driver, or a CPU build of torch)",
                "run this where `python -c 'import torch; torch.zeros(1).cuda()'` works",
            )
        try:
            torch.zeros(1, device="cuda")
        except RuntimeError as error:
            raise HarnessError(
                "GPU",
                f"cannot be used: {str(error).splitlines()[0]}",
                "see with nvidia-smi whether another process holds it or its memory",
            ) from error
        self._queue_cycles = _QUEUE_CYCLES
        self.device = torch.device("cuda", torch.cuda.current_device())
        found = torch.cuda.get_device_properties(self.device)
        self._driver_version = int(self._call("cuDriverGetVersion"))
        self.info = Device(
            name=found.name,
            arch=f"cuda:{found.major}{found.minor}",
            driver=_kernel_driver(),
            cuda=f"{self._driver_version // 1000}.{self._driver_version % 1000 // 10}",
            torch=str(torch.__version__),
            numpy=np.__version__,
            memory=found.total_memory,
            l2_bytes=found.L2_cache_size,
        )

    def load(self, binary: bytes, metadata: LaunchMetadata) -> CudaKernel:
        """Load a cubin; raises LaunchFault when the driver refuses it."""
        return CudaKernel(self._call, self._driver, binary, metadata)

    def encode_descriptor(
        self, address: int, tensor: InputTensor | OutputTensor, layout: DescriptorLayout
    ) -> bytes:
        """A tiled ``CUtensorMap`` of a row-major tensor, out-of-bounds elements reading 0."""
        d = self._driver
        size = formats.find(tensor.dtype).size
        rank = len(tensor.shape)
        steps = [size * stride for stride in strides(tensor.shape)]
        encoded = self._call(
            "cuTensorMapEncodeTiled",
            d.CUtensorMapDataType(_HOST_ELEMENT.get(layout.elem_type, layout.elem_type)),
            rank,
            address,
            [d.cuuint64_t(extent) for extent in reversed(tensor.shape)],
            [d.cuuint64_t(step) for step in reversed(steps[:-1])],
            [d.cuuint32_t(extent) for extent in reversed(layout.block_size)],
            [d.cuuint32_t(1)] * rank,
            d.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
            d.CUtensorMapSwizzle(layout.swizzle),
            d.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
            d.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        )
        words = np.array([int(word) for word in encoded.opaque], np.uint64)
        small = size * math.prod(tensor.shape) < _SMALL_TENSOR_BYTES
        if small and self._driver_version <= _SMALL_TENSOR_DRIVER:
            words[1] &= np.uint64(~_SMALL_TENSOR_BIT & (2**64 - 1))
        return words.tobytes()

    def synchronize(self) -> None:
        """Wait for the device; raises RuntimeError if something queued has failed."""
        torch.cuda.synchronize(self.device)

    def durations(self, launches: Sequence[Callable[[], None]]) -> list[float]:
        """Microseconds by events; the GPU is kept waiting until all launches are queued.

        If it did not wait long enough, short kernels would be given the time that queueing
        them takes; all are then launched again behind a longer wait.
        """
        cuda: Any = torch.cuda  # parts of it are not typed
        while True:
            cuda._sleep(self._queue_cycles)
            events = []
            for launch in launches:
                begin, end = (cuda.Event(enable_timing=True) for _ in range(2))
                begin.record()
                launch()
                end.record()
                events.append((begin, end))
            started = events[0][0].query()
            self.synchronize()
            if not started or self._queue_cycles >= _MOST_QUEUE_CYCLES:
                return [1e3 * begin.elapsed_time(end) for begin, end in events]
            self._queue_cycles *= 2

    def _call(self, function: str, *arguments: Any) -> Any:
        """One driver call; its single result, if any. Raises LaunchFault on an error."""
        status, *results = getattr(self._driver, function)(*arguments)
        if int(status) != 0:
            _, text = self._driver.cuGetErrorString(status)
            words = text.decode() if isinstance(text, bytes) else str(text)
            raise LaunchFault(f"{function}: {status.name}: {words}")
        return results[0] if results else None


class CudaKernel:
    """A loaded cubin and its launch attributes."""

    def __init__(self, call: Any, driver: Any, binary: bytes, metadata: LaunchMetadata) -> None:
        self._call = call
        self._driver = driver
        self.metadata = metadata
        self._module = call("cuModuleLoadData", binary)
        self._function = call("cuModuleGetFunction", self._module, metadata.name.encode())
        self.resources = Resources(
            registers=self._attribute("NUM_REGS"),
            local_bytes=self._attribute("LOCAL_SIZE_BYTES"),
            static_shared=self._attribute("SHARED_SIZE_BYTES"),
            shared=metadata.shared,
        )
        self._sizes = self._parameter_sizes()
        if metadata.shared > _DEFAULT_SHARED:
            self._allow("MAX_DYNAMIC_SHARED_SIZE_BYTES", metadata.shared)
        self._cluster = metadata.cluster
        if math.prod(self._cluster) > _PORTABLE_CLUSTER:
            self._allow("NON_PORTABLE_CLUSTER_SIZE_ALLOWED", 1)
        self._attributes = self._launch_attributes()

    def launch(self, grid: tuple[int, int, int], arguments: Sequence[bytes]) -> None:
        """Queue one launch; raises LaunchFault when the driver refuses it."""
        sizes = [len(argument) for argument in arguments]
        if sizes != self._sizes:
            raise LaunchFault(
                f"the binary takes parameters of {self._sizes} bytes, the case gives {sizes}"
            )
        config = self._driver.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = grid
        config.blockDimX = self.metadata.warp_size * self.metadata.num_warps
        config.blockDimY = config.blockDimZ = 1
        config.sharedMemBytes = self.metadata.shared
        config.hStream = torch.cuda.current_stream().cuda_stream
        config.attrs = self._attributes
        config.numAttrs = len(self._attributes)
        _keep, pointers = parameter_pointers(arguments)
        self._call("cuLaunchKernelEx", config, self._function, ctypes.addressof(pointers), 0)

    def _attribute(self, name: str) -> int:
        kind = getattr(self._driver.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
        return int(self._call("cuFuncGetAttribute", kind, self._function))

    def _allow(self, name: str, value: int) -> None:
        kind = getattr(self._driver.CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")
        self._call("cuFuncSetAttribute", self._function, kind, value)

    def _parameter_sizes(self) -> list[int]:
        """The size in bytes of each parameter, as the binary itself states it."""
        found: list[int] = []
        while True:
            status, _, size = self._driver.cuFuncGetParamInfo(self._function, len(found))
            if int(status) != 0:  # there is no parameter of this number
                return found
            found.append(int(size))

    def _launch_attributes(self) -> list[Any]:
        d = self._driver
        kinds = d.CUlaunchAttributeID
        found = []

        def add(kind: str) -> Any:
            attribute = d.CUlaunchAttribute()
            attribute.id = getattr(kinds, f"CU_LAUNCH_ATTRIBUTE_{kind}")
            value = d.CUlaunchAttributeValue()
            found.append((attribute, value))
            return value

        # A cluster that the binary itself requires is set by the driver.
        if math.prod(self._cluster) > 1 and not self._attribute("REQUIRED_CLUSTER_WIDTH"):
            dims = add("CLUSTER_DIMENSION").clusterDim
            dims.x, dims.y, dims.z = self._cluster
        if self.metadata.launch_cooperative_grid:
            add("COOPERATIVE").cooperative = 1
        if self.metadata.launch_pdl:
            add("PROGRAMMATIC_STREAM_SERIALIZATION").programmaticStreamSerializationAllowed = 1
        for attribute, value in found:
            attribute.value = value
        return [attribute for attribute, _ in found]


def parameter_pointers(arguments: Sequence[bytes]) -> tuple[Any, Any]:
    """The arguments in one buffer, each 64-byte aligned, and the array of pointers to them."""
    offsets, end = [], 0
    for argument in arguments:
        offsets.append(end)
        end += -(-len(argument) // 64) * 64
    buffer = (ctypes.c_char * (end + 64))()
    start = -(-ctypes.addressof(buffer) // 64) * 64
    for offset, argument in zip(offsets, arguments, strict=True):
        ctypes.memmove(start + offset, argument, len(argument))
    return buffer, (ctypes.c_void_p * len(offsets))(*(start + offset for offset in offsets))


def _kernel_driver() -> str:
    """The version of the installed GPU driver, as the kernel module states it."""
    try:
        with open("/proc/driver/nvidia/version") as file:
            words = file.readline().split()
    except OSError:
        return "unknown"
    return next((w for w in words if w.count(".") >= 1 and w[0].isdigit()), "unknown")
