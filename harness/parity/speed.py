"""Both sides timed in turns on one GPU: medians, and the ratio with its interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from harness.parity import inputs, launcher
from harness.parity.arena import POISONS, Arena
from harness.parity.formats import Array
from harness.parity.launcher import Launcher, LoadedKernel
from harness.parity.manifest import BundledCase, Problem
from harness.parity.result import Speed, Timing

TOO_SHORT = 10.0  # microseconds; below, launching costs as much as the kernel
MARGIN = 0.02  # a ratio this close to 1 is no finding, however narrow its interval
_CONFIDENCE = 2.576  # 99 %, in standard deviations
_WARM_UP = 10
_GROUP = 10
_SAMPLES = (20, 200)
_SECONDS = 0.4
_MAX_COPIES = 64
_MAX_BYTES = 4 << 30
_PATTERN = 1 << 20  # elements of random data made per input; longer inputs repeat it


def measure(
    case: BundledCase,
    device: Launcher,
    kernels: Mapping[str, LoadedKernel],
    announce: Callable[[str, str], None],
) -> Speed:
    """Time the case's ``speed`` problem; one kernel alone gives a timing and no ratio.

    Sides take turns, and turns in going first. Each launch gets the next of several copies of
    the buffers, so that its inputs are no longer in L2. Clocks are left alone.
    """
    needs = [launcher.scratch_bytes(k.metadata, case.speed.grid) for k in kernels.values()]
    scratch = (max(n[0] for n in needs), max(n[1] for n in needs))
    arenas = _copies(case.speed, scratch, device, case.id)
    arguments = {
        label: [
            launcher.bind(case.speed, k.metadata, a.addresses(), a.scratch(), device)
            for a in arenas
        ]
        for label, k in kernels.items()
    }
    labels = tuple(kernels)
    turn = 0

    def once(label: str) -> None:
        nonlocal turn
        kernels[label].launch(case.speed.grid, arguments[label][turn % len(arenas)])
        turn += 1

    for label in labels:
        announce(label, "first launch for timing")
        once(label)
        device.synchronize()
    announce("", "timing")
    first = _in_turns(device, labels, once, _WARM_UP)
    estimate = sum(float(np.median(samples)) for samples in first.values())  # microseconds
    least, most = _SAMPLES
    count = int(min(most, max(least, _SECONDS * 1e6 / estimate)))
    samples = _in_turns(device, labels, once, count)
    return _conclude(samples, len(arenas))


def _conclude(samples: Mapping[str, Sequence[float]], copies: int) -> Speed:
    sides = {label: timing(values) for label, values in samples.items()}
    if len(samples) == 1:
        return Speed(sides, "one binary" if "both" in samples else "one side", copies)
    reference, candidate = samples.values()
    ratio, low, high = ratio_interval(reference, candidate)
    return Speed(
        sides,
        verdict([side.median for side in sides.values()], low, high),
        copies,
        ratio,
        low,
        high,
    )


def timing(samples: Sequence[float]) -> Timing:
    """Median and middle half of some durations."""
    low, median, high = np.percentile(samples, [25, 50, 75])
    return Timing(float(median), float(low), float(high), len(samples))


def ratio_interval(
    reference: Sequence[float], candidate: Sequence[float]
) -> tuple[float, float, float]:
    """The median of candidate / reference over pairs, and its 99 % interval.

    Samples are paired in time, which cancels drifting clocks. The interval is that of order
    statistics: right for any distribution, with no resampling.
    """
    ratios = np.sort(np.asarray(candidate) / np.asarray(reference))
    count = len(ratios)
    half_width = _CONFIDENCE * math.sqrt(count) / 2
    low = max(0, math.floor(count / 2 - half_width) - 1)
    high = min(count - 1, math.ceil(count / 2 + half_width))
    return float(np.median(ratios)), float(ratios[low]), float(ratios[high])


def verdict(medians: Sequence[float], low: float, high: float) -> str:
    """What an interval of the ratio means, given each side's median in microseconds."""
    if max(medians) < TOO_SHORT:
        return "too short to time"
    if low > 1 + MARGIN:
        return "slower"
    return "faster" if high < 1 - MARGIN else "same"


def _in_turns(
    device: Launcher, labels: Sequence[str], once: Callable[[str], None], rounds: int
) -> dict[str, list[float]]:
    """Durations in microseconds of ``rounds`` launches per side, in turns."""
    found: dict[str, list[float]] = {label: [] for label in labels}
    for start in range(0, rounds, _GROUP):
        order = [
            label
            for number in range(start, min(start + _GROUP, rounds))
            for label in (labels if number % 2 else tuple(reversed(labels)))
        ]
        for label, duration in zip(
            order, device.durations([partial(once, label) for label in order]), strict=True
        ):
            found[label].append(duration)
    return found


def _copies(
    problem: Problem, scratch: tuple[int, int], device: Launcher, label: str
) -> list[Arena]:
    """So many copies of the buffers that together they are twice the L2, and at least two."""
    pattern = {name: _pattern(problem, name, label) for name in problem.inputs()}
    first = Arena(problem, scratch, device.device, red_zone=0)
    image = first.image(pattern, POISONS[0])
    footprint = max(1, len(first.bytes))
    wanted = 1 + math.ceil(2 * device.info.l2_bytes / footprint)
    count = max(2, min(wanted, _MAX_COPIES, _MAX_BYTES // footprint))
    arenas = [
        first,
        *(Arena(problem, scratch, device.device, red_zone=0) for _ in range(count - 1)),
    ]
    for arena in arenas:
        arena.bytes.copy_(image)
    return arenas


def _pattern(problem: Problem, name: str, label: str) -> Array:
    tensor = problem.inputs()[name]
    if tensor.fill == "index" or math.prod(tensor.shape) <= _PATTERN:
        return inputs.generate(tensor, "normal", 0, f"{label}/{name}")
    short = type(tensor)((_PATTERN,), tensor.dtype, tensor.fill, tensor.modulo, tensor.specials)
    made = inputs.generate(short, "normal", 0, f"{label}/{name}")
    return np.resize(made, tensor.shape)
