"""A parity run: every case of a bundle in worker processes, one per GPU, with a journal.

A case that faults, hangs or loses the CUDA context costs that case only: its worker is
replaced, and the side that did not fail is measured alone. Killed runs resume.
"""

from __future__ import annotations

import concurrent.futures
import os
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from harness.errors import HarnessError
from harness.parity.bundle import Bundle
from harness.parity.journal import Journal
from harness.parity.manifest import BundledCase
from harness.parity.process import Worker
from harness.parity.result import REPORT_VERSION, Device, ParityReport, ParityResult, State

Progress = Callable[[int, int, ParityResult], None]
CUDA = "harness.parity.cuda:CudaLauncher"


class _Slot:
    """One GPU: takes cases until none is left, on as many workers as that needs."""

    def __init__(self, bundle: Bundle, slot: str, launcher: str, quiet: float) -> None:
        self.slot = slot
        self._bundle = bundle
        self._launcher = launcher
        self._quiet = quiet
        self._worker: Worker | None = None
        self.device: Device | None = None

    def measure(self, case: BundledCase) -> ParityResult:
        """One case, both sides; if one faults or hangs, the other alone."""
        began = time.monotonic()
        roles = tuple(side.role for side in case.sides)
        result = self._attempt(case, roles)
        others = tuple(role for role in roles if role != result.side)
        if result.state in (State.FAULT, State.TIMEOUT) and len(others) < len(roles):
            result = _combine(result, self._attempt(case, others))
        return msgspec.structs.replace(
            result, seconds=round(time.monotonic() - began, 3), gpu=self.slot
        )

    def open(self) -> Worker:
        """A worker that can be given a case; raises HarnessError if none starts."""
        if self._worker is not None and not self._worker.alive:
            self._worker.close()
            self._worker = None
        if self._worker is None:
            self._worker = Worker(self._bundle.path, self.slot, self._launcher, self._quiet)
            self.device = self._worker.device
        return self._worker

    def close(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._worker.close()

    def _attempt(self, case: BundledCase, roles: tuple[str, ...]) -> ParityResult:
        worker = self.open()
        if case.target != worker.device.arch:
            why = f"compiled for {case.target}, this GPU is {worker.device.arch}"
            return ParityResult(case.id, State.SKIPPED, reason=why)
        return worker.measure(case, roles)


def _combine(failed: ParityResult, other: ParityResult) -> ParityResult:
    """The result of a case of which one side failed, and the other was then tried alone."""
    if other.state is failed.state:
        return msgspec.structs.replace(
            failed, side="both", reason=f"{failed.side}: {failed.reason}; {other.reason}"
        )
    fine = other.state is State.BITWISE_EQUAL  # with itself: no comparison of sides
    alone = f"; the other side alone: {'nothing found' if fine else other.verdict}"
    return msgspec.structs.replace(
        failed,
        reason=failed.reason + alone,
        trials=failed.trials or other.trials,
        resources=failed.resources or other.resources,
    )


def gpus() -> tuple[str, ...]:
    """The GPUs to use, as CUDA_VISIBLE_DEVICES names them, or all.

    Raises HarnessError, saying why, where there is none.
    """
    try:
        import torch
    except ImportError as error:
        raise HarnessError("torch", f"cannot be imported: {error}", "pip install torch") from error
    count = torch.cuda.device_count()
    if not count:
        raise HarnessError(
            "GPU",
            "torch finds no CUDA device (no GPU, no driver, or none in CUDA_VISIBLE_DEVICES)",
            "run this on a machine with a GPU; bundles can be copied there",
        )
    named = [name.strip() for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")]
    return tuple(named[:count]) if named != [""] else tuple(map(str, range(count)))


def architectures() -> frozenset[str]:
    """The targets of the GPUs to use, e.g. ``cuda:90``; opens a context on each.

    Raises HarnessError, saying why, where there is none that can be used.
    """
    count = len(gpus())
    import torch

    if torch.version.hip:
        raise HarnessError(
            "GPU",
            "is AMD's, and there is no launcher for HIP yet",
            "run the parity tests on an NVIDIA GPU; docs/parity.md says what a launcher needs",
        )
    capabilities = (torch.cuda.get_device_capability(index) for index in range(count))
    return frozenset(f"cuda:{major}{minor}" for major, minor in capabilities)


def run_parity(
    bundle_path: Path,
    out_path: Path,
    *,
    progress: Progress = lambda done, total, result: None,
    quiet: float = 60.0,
    slots: Sequence[str] | None = None,
    launcher: str = CUDA,
) -> ParityReport:
    """Measure every case of a bundle and write the report to ``out_path``.

    ``progress(done, total, result)`` is called after each case, ``quiet`` is the time in
    seconds after which a step counts as hung, ``slots`` are the GPUs (default: ``gpus()``),
    ``launcher`` names the ``launcher.Launcher`` to use, as ``module:class``.
    What a killed run of the same bundle and output had measured is taken from its journal.
    Raises HarnessError for a bad bundle, no usable GPU, no case for this GPU, or an output
    that cannot be written.
    """
    began = time.monotonic()
    started = datetime.now(UTC).isoformat(timespec="seconds")
    with Bundle(bundle_path) as bundle:
        journal = Journal(out_path, bundle.sha256)
        _Run(bundle, journal, progress).measure(
            [_Slot(bundle, slot, launcher, quiet) for slot in (gpus() if slots is None else slots)]
        )
        results = [journal.results[case.id] for case in bundle.manifest.cases]
        if all(result.state is State.SKIPPED for result in results):
            raise HarnessError(
                f"bundle {bundle_path}",
                f"none of its {len(results)} cases could be launched ({results[0].reason})",
                "bundle cases for this GPU's architecture",
            )
        results += [
            ParityResult(case, State.SKIPPED, reason=why)
            for case, why in bundle.manifest.skipped.items()
        ]
        report = ParityReport(
            version=REPORT_VERSION,
            bundle=bundle.sha256,
            started=started,
            seconds=round(time.monotonic() - began, 1),
            toolchains=bundle.manifest.toolchains,
            gpus=journal.devices,
            results=tuple(results),
        )
    journal.finish(report)
    return report


class _Run:
    """The cases that are not in the journal yet, spread over the GPUs."""

    def __init__(self, bundle: Bundle, journal: Journal, progress: Progress) -> None:
        self._journal = journal
        self._progress = progress
        self._lock = threading.Lock()
        cases = bundle.manifest.cases
        self._total = len(cases)
        self._waiting = [case for case in reversed(cases) if case.id not in journal.results]

    def measure(self, slots: Sequence[_Slot]) -> None:
        """Measure them all; raises the first problem if a case is left over in the end."""
        with concurrent.futures.ThreadPoolExecutor(len(slots)) as pool:
            try:
                ended = [pool.submit(self._drain, slot) for slot in slots]
                problems = [e for e in (future.exception() for future in ended) if e]
            except BaseException:  # an interrupt must not wait for hung kernels
                self._waiting.clear()
                raise
            finally:
                for slot in slots:
                    slot.close()
        for problem in problems:
            if self._waiting or not isinstance(problem, HarnessError):
                raise problem

    def _drain(self, slot: _Slot) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    return
                case = self._waiting.pop()
            try:
                result = slot.measure(case)
            except HarnessError:
                with self._lock:
                    self._waiting.append(case)
                raise
            with self._lock:
                assert slot.device is not None
                self._journal.add(result, slot.slot, slot.device)
                self._progress(len(self._journal.results), self._total, result)
