"""A launcher whose "GPU" is this process: binaries are names of the Python functions below.

It implements the real ``Launcher`` interface on real memory, so that everything above the
driver (arena, repetition, truth, fences, processes, watchdog) is tested without a GPU.
"""

from __future__ import annotations

import ctypes
import os
import struct
import time
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import torch

from harness.parity.launcher import LaunchFault
from harness.parity.manifest import LaunchMetadata
from harness.parity.result import Device, Resources

Floats = npt.NDArray[np.float32]
_launches = 0


def _rows(x: Floats, y: Floats, programs: int) -> None:
    y[:programs] = x[:programs] + np.float32(1)


def add_one(x: Floats, y: Floats, programs: int) -> None:
    """What the case asks for."""
    _rows(x, y, programs)


def add_one_otherwise(x: Floats, y: Floats, programs: int) -> None:
    """The same results from another "binary"."""
    _rows(x, y, programs)


def last_bit(x: Floats, y: Floats, programs: int) -> None:
    """One ULP more in one element of row 3, unless it is whole (where arithmetic is exact)."""
    _rows(x, y, programs)
    if programs > 3 and y[3, 7] % 1:
        y[3, 7] = np.nextafter(y[3, 7], np.float32(np.inf))


def add_two(x: Floats, y: Floats, programs: int) -> None:
    """A changed constant."""
    y[:programs] = x[:programs] + np.float32(2)


def forget_last(x: Floats, y: Floats, programs: int) -> None:
    """A mask one element too short."""
    y[:programs, :-1] = x[:programs, :-1] + np.float32(1)


def race(x: Floats, y: Floats, programs: int) -> None:
    """Another result every few launches."""
    global _launches
    _launches += 1
    _rows(x, y, programs)
    if _launches % 3 == 0:
        y[2, 5] += 1


def stray(x: Floats, y: Floats, programs: int) -> None:
    """Writes one element past the end of its output."""
    _rows(x, y, programs)
    beyond = (ctypes.c_float * 1).from_address(y.ctypes.data + y.nbytes)
    beyond[0] = 0.0


def overwrite_input(x: Floats, y: Floats, programs: int) -> None:
    """Changes an input after reading it."""
    _rows(x, y, programs)
    x[0, 0] += 1


def illegal_address(x: Floats, y: Floats, programs: int) -> None:
    """What torch raises after an illegal access."""
    raise RuntimeError("CUDA error: an illegal memory access was encountered\nmore lines")


def refused(x: Floats, y: Floats, programs: int) -> None:
    """What the driver says to an impossible launch."""
    raise LaunchFault("cuLaunchKernelEx: CUDA_ERROR_INVALID_VALUE: invalid argument")


def die(x: Floats, y: Floats, programs: int) -> None:
    """Takes its process along."""
    os.abort()


def endless(x: Floats, y: Floats, programs: int) -> None:
    """Never returns."""
    time.sleep(3600)


def endless_alone(x: Floats, y: Floats, programs: int) -> None:
    """Right and one ULP off, but waits for the other programs of its grid."""
    if programs < len(x):
        time.sleep(3600)
    last_bit(x, y, programs)


def out_of_memory(x: Floats, y: Floats, programs: int) -> None:
    """Asks for more memory than there is."""
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 200.00 GiB.")


class HostKernel:
    """A function as a loaded kernel of parameters (x_ptr, y_ptr, n, scratch, scratch)."""

    def __init__(self, binary: bytes, metadata: LaunchMetadata) -> None:
        self.metadata = metadata
        self.resources = Resources(0, 0, 0, metadata.shared)
        self._function = globals()[binary.decode()]

    def launch(self, grid: tuple[int, int, int], arguments: Sequence[bytes]) -> None:
        if [len(argument) for argument in arguments] != [8, 8, 4, 8, 8]:
            raise LaunchFault("wrong parameter sizes")
        (n,) = struct.unpack("<i", arguments[2])
        tensors = []
        for argument in arguments[:2]:
            (address,) = struct.unpack("<Q", argument)
            memory = (ctypes.c_float * (HostLauncher.rows * n)).from_address(address)
            tensors.append(np.frombuffer(memory, np.float32).reshape(HostLauncher.rows, n))
        with np.errstate(all="ignore"):
            self._function(*tensors, grid[0])


class HostLauncher:
    """The real interface, without a GPU. Every case must have ``rows`` rows."""

    rows = 6

    def __init__(self) -> None:
        torch.set_num_threads(1)  # several of us share few cores
        self.device = torch.device("cpu")
        self.info = Device(
            "host", "cuda:90", "", "", str(torch.__version__), np.__version__, 0, 4096
        )

    def load(self, binary: bytes, metadata: LaunchMetadata) -> HostKernel:
        return HostKernel(binary, metadata)

    def encode_descriptor(self, address: int, tensor: object, layout: object) -> bytes:
        return struct.pack("<Q", address) * 16

    def synchronize(self) -> None:
        pass

    def durations(self, launches: Sequence[Callable[[], None]]) -> list[float]:
        found = []
        for launch in launches:
            began = time.perf_counter()
            launch()
            found.append(1e6 * (time.perf_counter() - began))
        return found
