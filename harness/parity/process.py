"""A worker process seen from outside: asked, watched, and ended when it hangs."""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import msgspec

from harness.errors import HarnessError
from harness.parity.manifest import BundledCase
from harness.parity.protocol import LOCATING, Message, Request
from harness.parity.result import Device, ParityResult, State

ROOT = Path(__file__).resolve().parents[2]
_START = 300.0  # seconds; importing torch and opening a context on a busy machine
_TAIL = 2000


class Worker:
    """A worker process on one GPU (``slot`` as CUDA_VISIBLE_DEVICES names it)."""

    def __init__(self, bundle: Path, slot: str, launcher: str, quiet: float) -> None:
        self._quiet = quiet
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as this)
        self._messages: queue.Queue[Message | None] = queue.Queue()
        environment = {**os.environ, "CUDA_VISIBLE_DEVICES": slot}
        environment["PYTHONPATH"] = os.pathsep.join(
            [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        )
        self._process = subprocess.Popen(
            [sys.executable, "-m", "harness.parity.worker", str(bundle), slot, launcher],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=environment,
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        try:
            self.device = self._begin()
        except BaseException:
            self.close()
            raise

    def _begin(self) -> Device:
        limit: float | None = _START
        while True:
            message = self._next(limit)
            if message is None:
                raise HarnessError(
                    "parity worker",
                    f"did not start: {self._tail() or 'no word from it'}",
                    "see whether torch and cuda-bindings work in this environment",
                )
            if message.kind == "waiting":
                limit = None  # another process may use the GPU for long
            elif message.kind == "refused":
                cause, _, way_out = message.what.partition("\n")
                raise HarnessError(message.side, cause, way_out)
            elif message.device is not None:
                return message.device

    def measure(self, case: BundledCase, roles: tuple[str, ...]) -> ParityResult:
        """Measure one case; after ``alive`` turns False, use another worker."""
        assert self._process.stdin is not None
        doing = Message("doing", what="start")
        found: ParityResult | None = None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(msgspec.json.encode(Request(case.id, roles)) + b"\n")
            self._process.stdin.flush()
        while True:
            message = self._next(self._quiet)
            if message is None:
                hung = self._process.poll() is None
                state = State.TIMEOUT if hung else State.FAULT
                reason = f"no end after {self._quiet:g} s" if hung else self._died()
                self.close()
                return _ended(case, found, doing, state, reason)
            if message.kind == "doing":
                doing = message
            elif message.kind == "skipped":
                return _ended(case, found, Message("doing"), State.SKIPPED, message.what)
            elif message.kind == "fault":
                self.close()
                return _ended(case, found, doing, State.FAULT, message.what)
            elif message.result is not None:
                found = message.result
                if message.final:
                    return found

    @property
    def alive(self) -> bool:
        """Whether it can be given another case."""
        return self._process.poll() is None

    def close(self) -> None:
        """End the process, however it is."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.kill()
        self._process.wait()
        self._listener.join()
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.stdout.close()
        self._stderr.close()

    def _next(self, limit: float | None) -> Message | None:
        try:
            return self._messages.get(timeout=limit)
        except queue.Empty:
            return None

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(msgspec.MsgspecError):
            for line in self._process.stdout:
                self._messages.put(msgspec.json.decode(line, type=Message))
        self._process.wait()
        self._messages.put(None)

    def _died(self) -> str:
        return f"the process died: {self._tail()}"

    def _tail(self) -> str:
        self._stderr.seek(0)
        lines = self._stderr.read().decode(errors="replace")[-_TAIL:].strip().splitlines()
        return " | ".join(lines[-3:])


def _ended(
    case: BundledCase, found: ParityResult | None, doing: Message, state: State, reason: str
) -> ParityResult:
    """The result of a case whose measuring broke off, keeping what had been found."""
    if found is not None and doing.what == LOCATING:
        return found
    if not doing.side:  # nothing was being launched: this is no side's doing
        state = State.SKIPPED
    what = f"{doing.what}: {reason}" if doing.what else reason
    if found is not None and not doing.side:
        return msgspec.structs.replace(found, reason="; ".join(filter(None, [found.reason, what])))
    base = found or ParityResult(
        case.id, state, binaries={side.role: side.binary for side in case.sides}
    )
    return msgspec.structs.replace(base, state=state, side=doing.side, reason=what)
