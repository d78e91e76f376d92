"""One case measured: each side against itself, against the other, the truth, and its fences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec
import numpy as np
import torch

from harness.errors import HarnessError
from harness.parity import bits, formats, inputs, launcher, program, truth, verdict
from harness.parity.arena import POISONS, Arena
from harness.parity.bundle import Bundle
from harness.parity.launcher import Launcher, LoadedKernel
from harness.parity.manifest import BundledCase, Trial
from harness.parity.result import (
    Bits,
    ParityResult,
    Repeat,
    Stray,
    TrialResult,
    Truth,
)

Announce = Callable[[str, str], None]

# Launches of one side with one input: with a cold and a warm L2, waited for, and then so many
# queued one behind the other. The two poisons take turns.
_WAITED = ("cold", "warm", "cold", "warm")
_QUEUED = 8
_LAUNCHES = len(_WAITED) + _QUEUED


class _Observed(msgspec.Struct):
    """What one side left behind with one input. ``snapshot`` is the first launch's arena."""

    snapshot: torch.Tensor
    repeat: Repeat
    stray: list[Stray]
    unwritten: dict[str, int]


class Sides(msgspec.Struct):
    """The distinct binaries of a case, by the role (or ``both``) that they stand for."""

    kernels: dict[str, LoadedKernel]

    @property
    def pair(self) -> tuple[str, str] | None:
        """The reference's and the candidate's label, if both were loaded."""
        labels = tuple(self.kernels)
        return (labels[0], labels[1]) if len(labels) == 2 else None


def load_sides(
    case: BundledCase, bundle: Bundle, device: Launcher, roles: Sequence[str], announce: Announce
) -> Sides:
    """Load the binaries of ``roles``; one that all share, launched alike, is loaded once."""
    wanted = [side for side in case.sides if side.role in roles]
    first = wanted[0]
    shared = len(wanted) > 1 and all(
        side.binary == first.binary and not side.metadata.differences(first.metadata)
        for side in wanted
    )
    labelled = {"both": first} if shared else {side.role: side for side in wanted}
    kernels = {}
    for label, side in labelled.items():
        announce(label, "load")
        kernels[label] = device.load(bundle.read(side.binary), side.metadata)
    return Sides(kernels)


def measure(
    case: BundledCase, bundle: Bundle, device: Launcher, sides: Sides, announce: Announce
) -> ParityResult:
    """Everything but speed. ``announce(side, what)`` is called before each side's launches.

    Raises HarnessError when the inputs made here are not those of the bundle, LaunchFault or
    RuntimeError when a launch fails.
    """
    arena = _arena(case, device, sides)
    trials = tuple(
        _trial(case, trial, bundle, device, sides, arena, announce) for trial in case.trials
    )
    state, side, reason = verdict.of(trials, tuple(sides.kernels))
    return ParityResult(
        case=case.id,
        state=state,
        side=side,
        reason=reason,
        trials=trials,
        resources={label: kernel.resources for label, kernel in sides.kernels.items()},
        binaries={side.role: side.binary for side in case.sides},
        metadata=case.sides[0].metadata.differences(case.sides[1].metadata),
        omitted=case.omitted,
    )


def locate(case: BundledCase, device: Launcher, sides: Sides, result: ParityResult) -> ParityResult:
    """``result`` with the program that writes the first differing element, where derivable.

    A kernel whose programs wait for each other may never come back: ask for this last.
    """
    assert sides.pair is not None
    kernel = sides.kernels[sides.pair[0]]
    arena = _arena(case, device, sides)
    trials = list(result.trials)
    number = next(n for n, t in enumerate(trials) if any(b.differing for b in t.bits))
    image = _images(case, case.trials[number], arena)[0]
    located = []
    for found in trials[number].bits:
        writer = -1
        if found.differing:
            shape = case.check.outputs()[found.output].shape
            element = int(np.ravel_multi_index(found.first_index, shape))
            writer = program.writer_of(kernel, device, arena, image, found.output, element)
        located.append(msgspec.structs.replace(found, program=writer))
    trials[number] = msgspec.structs.replace(trials[number], bits=tuple(located))
    return msgspec.structs.replace(result, trials=tuple(trials))


def _arena(case: BundledCase, device: Launcher, sides: Sides) -> Arena:
    needs = [launcher.scratch_bytes(k.metadata, case.check.grid) for k in sides.kernels.values()]
    scratch = (max(n[0] for n in needs), max(n[1] for n in needs))
    return Arena(case.check, scratch, device.device)


def _trial(
    case: BundledCase,
    trial: Trial,
    bundle: Bundle,
    device: Launcher,
    sides: Sides,
    arena: Arena,
    announce: Announce,
) -> TrialResult:
    announce("", f"inputs {trial.distribution}")
    images = _images(case, trial, arena)
    observed: dict[str, _Observed] = {}
    for label, kernel in sides.kernels.items():
        announce(label, trial.distribution)
        observed[label] = _repeat(case, label, kernel, device, arena, images)
    announce("", f"compare {trial.distribution}")
    return TrialResult(
        distribution=trial.distribution,
        repeats=tuple(seen.repeat for seen in observed.values()),
        stray=tuple(stray for seen in observed.values() for stray in seen.stray),
        truth=tuple(_truth(case, trial, bundle, arena, observed)),
        bits=tuple(_bits(case, sides, arena, observed)),
    )


def _images(case: BundledCase, trial: Trial, arena: Arena) -> list[torch.Tensor]:
    made = inputs.generate_all(case.id, case.check, trial.distribution, trial.seed)
    for name, array in made.items():
        if inputs.digest(array) != trial.inputs.get(name):
            raise HarnessError(
                f"case {case.id}, input {name} ({trial.distribution})",
                "is not the input that the reference was computed for",
                "use the versions of numpy and torch that the bundle was made with",
            )
    return [arena.image(made, poison) for poison in POISONS]


def _repeat(
    case: BundledCase,
    label: str,
    kernel: LoadedKernel,
    device: Launcher,
    arena: Arena,
    images: Sequence[torch.Tensor],
) -> _Observed:
    arguments = launcher.bind(
        case.check, kernel.metadata, arena.addresses(), arena.scratch(), device
    )
    snapshots: list[torch.Tensor] = []
    flush = torch.empty(2 * device.info.l2_bytes, dtype=torch.uint8, device=arena.bytes.device)
    for number in range(_LAUNCHES):
        waited = number < len(_WAITED)
        arena.bytes.copy_(images[number % 2])
        if waited and _WAITED[number] == "cold":
            flush.fill_(number)
        if waited:
            device.synchronize()
        kernel.launch(case.check.grid, arguments)
        if waited:
            device.synchronize()
        snapshots.append(arena.bytes.clone())
    device.synchronize()

    stray: dict[str, Stray] = {}
    for number, snapshot in enumerate(snapshots):
        for found in arena.stray(label, images[number % 2], snapshot):
            stray.setdefault(found.where, found)
    repeat, unwritten = _moving(label, arena, images, snapshots)
    return _Observed(snapshots[0], repeat, list(stray.values()), unwritten)


def _moving(
    label: str, arena: Arena, images: Sequence[torch.Tensor], snapshots: Sequence[torch.Tensor]
) -> tuple[Repeat, dict[str, int]]:
    """What moves between launches, and how many elements of each output nobody writes.

    A byte that holds the poison after a launch with the one poison and after the next with
    the other was not written; it differs between launches, and does not count as moving.
    """
    moved, output = 0, ""
    index: tuple[int, ...] = ()
    unwritten = {}
    for name, tensor in arena.problem.outputs().items():
        region, form = arena.regions[name], formats.find(tensor.dtype)
        parts = [s[region.start : region.end] for s in snapshots]
        kept = torch.ones(region.size, dtype=torch.bool, device=parts[0].device)
        if tensor.initial == "poison":
            for part, poison in zip(parts[:2], POISONS, strict=True):
                kept &= part == poison
        else:
            kept[:] = False
        whole = kept.view(-1, form.size).all(1)
        unwritten[name] = int(whole.sum())
        changes = torch.zeros_like(kept)
        for part in parts[1:]:
            changes |= part != parts[0]
        changes &= ~whole.repeat_interleave(form.size)
        count = int(changes.sum())
        if count and not moved:
            element = int(changes.to(torch.uint8).argmax()) // form.size
            output = name
            index = tuple(int(i) for i in np.unravel_index(element, tensor.shape))
        moved += count
    return Repeat(label, len(snapshots), moved, output, index), unwritten


def _truth(
    case: BundledCase,
    trial: Trial,
    bundle: Bundle,
    arena: Arena,
    observed: Mapping[str, _Observed],
) -> list[Truth]:
    found = []
    for name, reference in trial.references.items():
        tensor = case.check.outputs()[name]
        value = bundle.array(reference.value, tensor.shape)
        bound = bundle.array(reference.bound, tensor.shape)
        for label, seen in observed.items():
            judged = truth.judge(
                name,
                label,
                arena.read(seen.snapshot, name),
                value,
                bound,
                formats.find(tensor.dtype),
            )
            found.append(msgspec.structs.replace(judged, unwritten=seen.unwritten[name]))
    return found


def _bits(
    case: BundledCase, sides: Sides, arena: Arena, observed: Mapping[str, _Observed]
) -> list[Bits]:
    if sides.pair is None:
        return []
    left, right = (observed[label].snapshot for label in sides.pair)
    return [
        bits.compare(
            name, arena.read(left, name), arena.read(right, name), formats.find(tensor.dtype)
        )
        for name, tensor in case.check.outputs().items()
    ]
