"""What it takes to launch a binary: one small interface, and the arguments as bytes.

``Launcher`` is implemented for CUDA in ``cuda``; another vendor's host needs another
implementation and nothing else, for memory, streams and events are torch's.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import torch

from harness.errors import HarnessError
from harness.parity.manifest import (
    DescriptorLayout,
    InputTensor,
    LaunchMetadata,
    OutputTensor,
    Problem,
    TensorDescriptor,
    Value,
)
from harness.parity.result import Device, Resources

_SCALARS = {
    "i1": "b", "i8": "b", "i16": "h", "i32": "i", "i64": "q",
    "u1": "B", "u8": "B", "u16": "H", "u32": "I", "u64": "Q",
    "fp16": "e", "fp32": "f", "fp64": "d",
}  # fmt: skip


class LaunchFault(RuntimeError):
    """The driver refused a launch or reports that one failed; the context may be lost."""


class LoadedKernel(Protocol):
    """A binary on the GPU."""

    metadata: LaunchMetadata
    resources: Resources

    def launch(self, grid: tuple[int, int, int], arguments: Sequence[bytes]) -> None:
        """Queue one launch of ``grid`` CTAs on torch's current stream.

        Raises LaunchFault when the driver refuses it. Faults inside the kernel appear at the
        next synchronisation.
        """


class Launcher(Protocol):
    """A GPU that binaries can be loaded on."""

    device: torch.device
    info: Device

    def load(self, binary: bytes, metadata: LaunchMetadata) -> LoadedKernel:
        """Load a binary; raises LaunchFault when the driver refuses it."""

    def encode_descriptor(
        self, address: int, tensor: InputTensor | OutputTensor, layout: DescriptorLayout
    ) -> bytes:
        """A descriptor of a row-major tensor as the kernel takes it; raises LaunchFault."""

    def synchronize(self) -> None:
        """Wait for all that was queued; raises RuntimeError if any of it failed."""

    def durations(self, launches: Sequence[Callable[[], None]]) -> list[float]:
        """Microseconds that each launch takes on the GPU, queued one behind the other."""


def scratch_bytes(metadata: LaunchMetadata, grid: tuple[int, int, int]) -> tuple[int, int]:
    """Bytes of global and of profile scratch that one launch of ``grid`` CTAs needs."""
    ctas = grid[0] * grid[1] * grid[2]
    return ctas * metadata.global_scratch_size, ctas * metadata.profile_scratch_size


def bind(
    problem: Problem,
    metadata: LaunchMetadata,
    addresses: Mapping[str, int],
    scratch: tuple[int, int],
    launcher: Launcher,
) -> list[bytes]:
    """Every kernel parameter in order, as bytes; ``scratch`` are the two scratch addresses.

    A descriptor becomes its encoding, then each dimension's shape (i32) and stride (i64).
    Raises HarnessError where the metadata does not describe a descriptor.
    """
    layouts = iter(metadata.tensordesc_meta or ())
    packed: list[bytes] = []
    for name, argument in problem.arguments.items():
        if isinstance(argument, Value):
            packed.append(_scalar(name, argument))
        elif isinstance(argument, TensorDescriptor):
            tensor = argument.tensor
            layout = next(layouts, None)
            if layout is None or layout.is_im2col or len(layout.block_size) != len(tensor.shape):
                raise HarnessError(
                    f"argument {name}",
                    f"the launch metadata describes no tiled {len(tensor.shape)}-D descriptor",
                    "this launcher makes tiled TMA descriptors only",
                )
            packed.append(launcher.encode_descriptor(addresses[name], tensor, layout))
            packed += [struct.pack("<i", extent) for extent in tensor.shape]
            packed += [struct.pack("<q", stride) for stride in strides(tensor.shape)]
        else:
            packed.append(struct.pack("<Q", addresses[name]))
    return packed + [struct.pack("<Q", address) for address in scratch]


def strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides, in elements."""
    found = [1]
    for extent in reversed(shape[1:]):
        found.append(found[-1] * extent)
    return tuple(reversed(found))


def _scalar(name: str, scalar: Value) -> bytes:
    if scalar.triton_type == "bf16":
        return struct.pack("<f", scalar.value)[2:]
    code = _SCALARS.get(scalar.triton_type)
    try:
        if code is None:
            raise struct.error(f"not a scalar type: {scalar.triton_type}")
        return struct.pack(f"<{code}", scalar.value)
    except (struct.error, OverflowError) as error:
        raise HarnessError(
            f"argument {name} = {scalar.value!r}", str(error), "mend the case's Scalar"
        ) from error
