"""A survey of versions: fills the version matrix.

Each pin compiles the probes once; pairs are then compared from what the store holds. A pin that
cannot be made, or does not load, is a result with its reason. What a pin measurably is stays in
the store too, so that a pin whose probes are all known needs no environment.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Callable, Iterable, Sequence

import msgspec

from harness import compare, judge, toolchains, worker
from harness.compile import compile_case, compile_key
from harness.errors import HarnessError
from harness.matrix import Attempt, Cell, Matrix, Pin, Probe
from harness.model import Case, Compilation, Outcome
from harness.revision import revision
from harness.session import foreign_rules
from harness.store import Store, digest
from harness.toolchains import (
    Controls,
    Role,
    Toolchain,
    borrowed,
    declared,
    identify,
    preflight,
    proof_findings,
)
from harness.toolchains.published import override
from harness.workers import Worker

Progress = Callable[[str], None]
Version = tuple[str, str]
"""A role and a version of what it is about (see ``harness.toolchains.published``)."""


def measure(
    references: Sequence[Version],
    candidates: Sequence[Version],
    cases: Sequence[Case],
    controls: Controls,
    store: Store,
    progress: Progress,
    save: Callable[[Matrix], None],
    command: str = "",
    fresh: bool = False,
) -> Matrix:
    """Measure every pair of ``references`` and ``candidates`` with ``cases`` as probes.

    ``save`` is handed the matrix after each pin. ``fresh`` makes and compiles everything again,
    whatever is stored. Raises HarnessError only if the store or ``save`` does.
    """
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    whole = Matrix(started, command, tuple(case.id for case in cases))
    surveyor = _Surveyor(cases, controls, store, progress, fresh)
    rows: list[tuple[Pin, _Found]] = []
    columns: list[tuple[Pin, _Found]] = []
    for side, versions in ((rows, references), (columns, candidates)):
        for role, version in versions:
            side.append(surveyor.pin(declared().role(role), version))
            whole = msgspec.structs.replace(
                whole,
                references=tuple(pin for pin, _ in rows),
                candidates=tuple(pin for pin, _ in columns),
                cells=(*whole.cells, *(surveyor.cells(rows, columns) if columns else ())),
            )
            save(whole)
    return whole


_Found = dict[str, Compilation]


class _Surveyor:
    """Measures pins, and the cells of the newest candidate."""

    def __init__(
        self,
        cases: Sequence[Case],
        controls: Controls,
        store: Store,
        progress: Progress,
        fresh: bool,
    ) -> None:
        self._cases = cases
        self._controls = controls
        self._store = store
        self._progress = progress
        self._fresh = fresh
        self._verdicts: dict[tuple[str, ...], str] = {}

    def pin(self, role: Role, version: str) -> tuple[Pin, _Found]:
        """One pin, and what it made of the probes; nothing if it cannot be used."""
        pin = Pin(role.name, version, override(role, version))
        self._progress(pin.name)
        key = _key(role, pin)
        known = None if self._fresh else self._store.load("pin", key, Pin)
        if known is not None:
            found = self._stored(known)
            if known.problem or found is not None:
                return _with_attempts(known, found or {}), found or {}
        try:
            with borrowed(role.name, pin.override, self._progress) as toolchain:
                measured = _measured(pin, toolchain)
                self._store.save("pin", key, measured)
                found = {} if measured.problem else self._compiled(measured, toolchain)
        except HarnessError as error:  # no environment, or one in which nothing runs
            return msgspec.structs.replace(pin, problem=error.cause), {}
        return _with_attempts(measured, found), found

    def cells(
        self, rows: Sequence[tuple[Pin, _Found]], columns: Sequence[tuple[Pin, _Found]]
    ) -> Iterable[Cell]:
        """The last candidate against every reference."""
        pin, right = columns[-1]
        for at, (reference, left) in enumerate(rows):
            if not (pin.problem or reference.problem):
                roles = [declared().role(each.role) for each in (reference, pin)]
                without = foreign_rules(plugin for role in roles for plugin in role.plugins)
                probes = (self._probe(c, left[c.id], right[c.id], without) for c in self._cases)
                yield Cell(at, len(columns) - 1, tuple(probes))

    def _stored(self, pin: Pin) -> _Found | None:
        """What the store has of the probes; None unless it has all."""
        found = {}
        for case in self._cases:
            key = compile_key(case, pin.fingerprint, self._controls)
            compilation = self._store.load_compilation(key)
            if compilation is None:
                return None
            found[case.id] = compilation
        return found

    def _compiled(self, pin: Pin, toolchain: Toolchain) -> _Found:
        found = {}
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._store.shared())
            workers = {
                plain: stack.enter_context(Worker(toolchain, self._controls, plain=plain))
                for plain in (False, True)
            }
            for case in self._cases:
                self._progress(f"{pin.name}: {case.id}")
                found[case.id] = self._compile(case, pin, workers[case.baseline])
        return found

    def _compile(self, case: Case, pin: Pin, with_worker: Worker) -> Compilation:
        """One probe."""
        return compile_case(with_worker, case, pin.fingerprint, self._store, fresh=self._fresh)

    def _probe(
        self, case: Case, left: Compilation, right: Compilation, without: Sequence[str]
    ) -> Probe:
        verdicts = {}
        if left.outcome is right.outcome is Outcome.OK:
            for stage in case.target.stages:
                verdicts[stage] = self._verdict(stage, left, right, without)
        return Probe(case.id, judge.outcome(left, right)[0], verdicts)

    def _verdict(
        self, stage: str, left: Compilation, right: Compilation, without: Sequence[str]
    ) -> str:
        """The verdict on a pair of artifacts; each pair is compared once."""
        pair = [side.artifacts.get(stage) for side in (left, right)]
        key = (stage, *(artifact.sha256 if artifact else "" for artifact in pair), *without)
        if key not in self._verdicts:
            data = [self._store.read(artifact) for artifact in pair]
            found = compare.compare(stage, data[0], data[1], without=without)
            self._verdicts[key] = found.verdict.value
        return self._verdicts[key]


def _key(role: Role, pin: Pin) -> str:
    """What decides what a published version is found to be, and whether it can be used."""
    parts = (pin.role, pin.version, pin.override, role.python, role.plugins, role.pins)
    code = revision(toolchains, worker)
    return digest(msgspec.json.encode([msgspec.to_builtins(parts), code]))


def _measured(pin: Pin, toolchain: Toolchain) -> Pin:
    """What a pin is, or why it cannot be used."""
    for finding in preflight(toolchain):
        if finding.problem:
            return msgspec.structs.replace(pin, problem=finding.cause)
    try:
        identity = identify(toolchain)
    except HarnessError as error:
        return msgspec.structs.replace(pin, problem=error.cause)
    return msgspec.structs.replace(
        pin,
        problem="; ".join(found.cause for found in proof_findings(identity, toolchain)),
        fingerprint=identity.fingerprint,
        triton=identity.triton_version,
    )


def _with_attempts(pin: Pin, found: _Found) -> Pin:
    probes = {case: _attempt(compilation) for case, compilation in found.items()}
    return msgspec.structs.replace(pin, probes=probes)


def _attempt(compilation: Compilation) -> Attempt:
    failure = compilation.failure
    if failure is None:
        return Attempt(compilation.outcome.value)
    where = failure.pass_name or failure.phase
    words = failure.message.split("\n")[:2]  # what Python says, and the compiler's first line
    return Attempt(compilation.outcome.value, f"{where}: {' '.join(words)}")
