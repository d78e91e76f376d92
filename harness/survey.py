"""A survey of versions: fills the version matrix.

Each pin compiles the probes once; pairs are then compared from what the store holds. A pin that
cannot be made, or does not load, is a result with its reason.
"""

from __future__ import annotations

import datetime
import shutil
from collections.abc import Callable, Iterable, Sequence

import msgspec

from harness import compare, judge
from harness.compile import Worker, compile_case
from harness.errors import HarnessError
from harness.matrix import Cell, Matrix, Pin, Probe
from harness.model import Case, Compilation, Outcome, Verdict
from harness.store import Store
from harness.toolchains import (
    Controls,
    Toolchain,
    cache_root,
    declared,
    ensure,
    evict,
    identify,
    preflight,
    proof_problems,
)
from harness.toolchains.published import override

ROOM = 6 << 30  # bytes: with less left on the disk, environments that are no pins are removed
Progress = Callable[[str], None]


def measure(
    references: Sequence[tuple[str, str]],
    candidates: Sequence[tuple[str, str]],
    cases: Sequence[Case],
    controls: Controls,
    store: Store,
    known: Iterable[Pin],
    progress: Progress,
    save: Callable[[Matrix], None],
) -> Matrix:
    """Measure every pair of ``references`` and ``candidates``, each (role, version).

    ``known`` are pins that an earlier run has measured: those whose compilations are in the
    store are not made again. ``save`` is handed the matrix after each pin.
    """
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    earlier = {(pin.role, pin.version): pin for pin in known}
    done: dict[tuple[str, str], tuple[Pin, dict[str, Compilation]]] = {}
    whole = Matrix(started, tuple(case.id for case in cases), (), (), ())
    compared = _Compared(store)
    for at in [*references, *candidates]:
        if at not in done:
            progress(f"{at[0]} {at[1]}")
            done[at] = _pin(*at, cases, controls, store, earlier.get(at), progress)
        rows = [done[pin] for pin in references if pin in done]
        columns = [done[pin] for pin in candidates if pin in done]
        whole = msgspec.structs.replace(
            whole,
            references=tuple(pin for pin, _ in rows),
            candidates=tuple(pin for pin, _ in columns),
            cells=tuple(
                Cell(i, j, tuple(compared.probe(case, left, right) for case in cases))
                for i, (pin, left) in enumerate(rows)
                for j, (other, right) in enumerate(columns)
                if not (pin.problem or other.problem)
            ),
        )
        save(whole)
    return whole


class _Compared:
    """Verdicts of pairs of artifacts, each measured once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[tuple[str, str, str], Verdict] = {}

    def probe(
        self, case: Case, left: dict[str, Compilation], right: dict[str, Compilation]
    ) -> Probe:
        sides = left[case.id], right[case.id]
        verdicts = {}
        if all(side.outcome is Outcome.OK for side in sides):
            for stage in case.target.stages:
                verdicts[stage] = self._verdict(stage, *sides).value
        return Probe(case.id, judge.outcome(*sides)[0], verdicts)

    def _verdict(self, stage: str, left: Compilation, right: Compilation) -> Verdict:
        artifacts = left.artifacts.get(stage), right.artifacts.get(stage)
        shas = [artifact.sha256 if artifact else "" for artifact in artifacts]
        key = stage, shas[0], shas[1]
        if key not in self._known:
            data = [self._store.read(artifact) for artifact in artifacts]
            self._known[key] = compare.compare(stage, data[0], data[1]).verdict
        return self._known[key]


def _pin(
    role: str,
    version: str,
    cases: Sequence[Case],
    controls: Controls,
    store: Store,
    earlier: Pin | None,
    progress: Progress,
) -> tuple[Pin, dict[str, Compilation]]:
    if earlier is not None and earlier.probes.keys() >= {case.id for case in cases}:
        stored = {case.id: store.load_compilation(earlier.probes[case.id]) for case in cases}
        if all(stored.values()):
            return earlier, {case: found for case, found in stored.items() if found}
    pin = Pin(role, version, override(declared().role(role), version))
    toolchain = None
    try:
        toolchain = ensure(role, pin.override, progress=progress)
        problems = [found for found in preflight(toolchain) if found.problem]
        if problems:
            raise problems[0].error()
        identity = identify(toolchain)
        if unproven := proof_problems(identity, toolchain):
            raise HarnessError(f"toolchain {role}", unproven[0].partition(": ")[2], "")
        pin = msgspec.structs.replace(
            pin, fingerprint=identity.fingerprint, triton=identity.triton_version
        )
        with Worker(toolchain, controls) as worker:
            found = {
                case.id: compile_case(worker, case, identity.fingerprint, store) for case in cases
            }
        probes = {case: compilation.key for case, compilation in found.items()}
        return msgspec.structs.replace(pin, probes=probes), found
    except HarnessError as error:
        return msgspec.structs.replace(pin, problem=f"{error.thing}: {error.cause}"), {}
    finally:
        if toolchain is not None and _short_of_room() and not _pinned(toolchain):
            progress(f"removing {pin.name}: the disk has little room left")
            evict(toolchain)


def _pinned(toolchain: Toolchain) -> bool:
    return ensure(toolchain.role).interpreter == toolchain.interpreter


def _short_of_room() -> bool:
    return shutil.disk_usage(cache_root()).free < ROOM
