"""Which program (CTA) writes an element: found by launching ever shorter prefixes of the grid."""

from __future__ import annotations

import math

import torch

from harness.parity import launcher
from harness.parity.arena import POISONS, Arena
from harness.parity.launcher import Launcher, LoadedKernel


def writer_of(
    kernel: LoadedKernel,
    device: Launcher,
    arena: Arena,
    image: torch.Tensor,
    output: str,
    element: int,
) -> int:
    """The x index of the program that writes ``element`` (flat) of ``output``; -1 if unknown.

    Only programs of a one-dimensional grid that do not work together can be told apart: not
    clusters, not cooperative launches, and not persistent kernels, where fewer programs do the
    work of all. ``image`` must hold the first poison. A kernel whose programs wait for each
    other may never end here: call this last.
    """
    programs, *others = arena.problem.grid
    region = arena.regions[output]
    if (
        others != [1, 1]
        or kernel.metadata.launch_cooperative_grid
        or arena.problem.outputs()[output].initial != "poison"
    ):
        return -1
    if math.prod(kernel.metadata.cluster) > 1:
        return -1
    arguments = launcher.bind(
        arena.problem, kernel.metadata, arena.addresses(), arena.scratch(), device
    )
    size = region.size // math.prod(arena.problem.outputs()[output].shape)

    def left_by(count: int) -> torch.Tensor:
        arena.bytes.copy_(image)
        kernel.launch((count, 1, 1), arguments)
        device.synchronize()
        return (arena.bytes[region.start : region.end] != POISONS[0]).view(-1, size).any(1)

    if programs > 1 and bool((left_by(1) == left_by(programs)).all()):
        return -1
    low, high = 0, programs  # ``low`` programs leave it alone, ``high`` write it
    while high - low > 1:
        middle = (low + high) // 2
        if bool(left_by(middle)[element]):
            high = middle
        else:
            low = middle
    return high - 1
