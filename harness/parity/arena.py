"""One stretch of GPU memory holding every buffer of a launch, each between red zones.

An *image* is what the whole stretch holds before a launch: inputs, poisoned outputs, and a
known byte everywhere else. After a launch, any byte outside the outputs (and the scratch) that
differs from the image was written by mistake.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import msgspec
import numpy as np
import torch

from harness.parity import formats
from harness.parity.formats import Array
from harness.parity.manifest import OutputTensor, Problem
from harness.parity.result import Stray

RED_ZONE = 1 << 20
_ALIGNMENT = 1024
_RED = 0xCB
# Two poisons: an element that keeps the one and then the other was never written. Repeated,
# either byte is a NaN or close to the largest value, so what is computed from it stands out.
POISONS = (0xFF, 0x7F)


class Region(msgspec.Struct, frozen=True):
    """A buffer in an arena: where it starts and how many bytes it has."""

    name: str
    start: int
    size: int
    writable: bool

    @property
    def end(self) -> int:
        """The first byte after it."""
        return self.start + self.size


class Arena:
    """The buffers of one problem on ``device``; ``scratch`` are the two scratch sizes, bytes."""

    def __init__(
        self,
        problem: Problem,
        scratch: tuple[int, int],
        device: torch.device,
        red_zone: int = RED_ZONE,
    ) -> None:
        self.problem = problem
        self.regions: dict[str, Region] = {}
        at = red_zone
        sizes = {
            name: (formats.find(t.dtype).size * math.prod(t.shape), isinstance(t, OutputTensor))
            for name, t in problem.tensors().items()
        }
        sizes |= {name: (size, True) for name, size in zip(_SCRATCH, scratch, strict=True)}
        for name, (size, writable) in sizes.items():
            self.regions[name] = Region(name, at, size, writable)
            at = _aligned(at + size + red_zone)
        # torch aligns an allocation to 512 bytes; start where descriptors and scratch may.
        self._storage = torch.empty(at + _ALIGNMENT, dtype=torch.uint8, device=device)
        offset = -self._storage.data_ptr() % _ALIGNMENT
        self.bytes = self._storage[offset : offset + at]
        self._red_zone = red_zone

    def address(self, name: str) -> int:
        """The device address of a tensor."""
        return self.bytes.data_ptr() + self.regions[name].start

    def addresses(self) -> dict[str, int]:
        """The device address of every tensor."""
        return {name: self.address(name) for name in self.problem.tensors()}

    def scratch(self) -> tuple[int, int]:
        """The addresses of the global and the profile scratch; 0 where there is none."""
        first, second = (self.address(n) if self.regions[n].size else 0 for n in _SCRATCH)
        return first, second

    def image(self, inputs: Mapping[str, Array], poison: int) -> torch.Tensor:
        """What the arena must hold before a launch, on its device."""
        host = np.full(len(self.bytes), _RED, np.uint8)
        for name, tensor in self.problem.tensors().items():
            region = self.regions[name]
            if isinstance(tensor, OutputTensor):
                content = 0 if tensor.initial == "zero" else poison
                host[region.start : region.end] = content
            else:
                raw = np.ascontiguousarray(inputs[name]).reshape(-1).view(np.uint8)
                host[region.start : region.end] = raw
        for name in _SCRATCH:
            region = self.regions[name]
            host[region.start : region.end] = 0
        return torch.from_numpy(host).to(self.bytes.device)

    def read(self, snapshot: torch.Tensor, name: str) -> Array:
        """The bits of a tensor in a snapshot of the arena."""
        tensor, region = self.problem.tensors()[name], self.regions[name]
        raw = snapshot[region.start : region.end].cpu().numpy()
        return raw.view(formats.find(tensor.dtype).dtype).reshape(tensor.shape)

    def stray(self, side: str, image: torch.Tensor, snapshot: torch.Tensor) -> list[Stray]:
        """Every stretch that changed and must not have: inputs, and red zones by neighbour."""
        found = []
        for where, start, end in self._guarded():
            changed = snapshot[start:end] != image[start:end]
            count = int(changed.sum())
            if count:
                found.append(Stray(side, where, count, int(changed.to(torch.uint8).argmax())))
        return found

    def _guarded(self) -> Iterator[tuple[str, int, int]]:
        at = 0
        before = ""
        for region in self.regions.values():
            between = f"red zone between {before} and {region.name}"
            yield between if before else f"red zone before {region.name}", at, region.start
            if not region.writable:
                yield f"input {region.name}", region.start, region.end
            at, before = region.end, region.name
        yield f"red zone after {before}", at, len(self.bytes)


_SCRATCH = ("global scratch", "profile scratch")


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGNMENT) * _ALIGNMENT
