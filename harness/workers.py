"""Workers: a process of one toolchain that forks a child for each job.

This is the harness's side; ``harness/worker/server.py`` is what answers.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import IO, Any

import msgspec

from harness.errors import HarnessError
from harness.toolchains import Controls, Toolchain

START_TIMEOUT = 120.0  # seconds
TLX = "triton.language.extra.tlx"
ROOT = Path(__file__).resolve().parent.parent
_BOOT = "import sys; sys.path.insert(0, sys.argv.pop(1)); from harness.worker.server import main;"
_BOOT += " sys.path.pop(0); main(sys.argv[1:])"


class Limits(msgspec.Struct, frozen=True):
    """Limits of one child: seconds, bytes of address space, bytes of files written."""

    deadline: float = 300.0
    memory: int = 16 << 30
    disk: int = 2 << 30


class Worker:
    """A running worker of one toolchain; started on first use, restarted if it dies.

    ``plain`` workers leave TLX alone until a kernel imports it: for kernels that do not.
    """

    def __init__(
        self,
        toolchain: Toolchain,
        controls: Controls,
        limits: Limits | None = None,
        plain: bool = False,
    ) -> None:
        self.toolchain = toolchain
        self.controls = controls
        self.limits = limits or Limits()
        self.plain = plain
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._waiting: dict[int, Future[dict[str, Any]]] = {}
        self._ready: Future[dict[str, Any]] = Future()
        self._next = 0
        self._requests = -1

    def start(self) -> None:
        """Start the worker if it does not run, without waiting until it is ready."""
        with self._lock:
            self._ensure_started()

    def identity(self) -> dict[str, Any]:
        """What the worker found out about its toolchain while importing triton.

        Raises HarnessError if triton cannot be imported there.
        """
        with self._lock:
            self._ensure_started()
            ready = self._ready
        return ready.result(START_TIMEOUT)

    def run(self, request: dict[str, Any], folder: Path) -> dict[str, Any]:
        """Have one job done in ``folder``; returns how the child ended.

        A worker that dies under a request fails that request alone.
        """
        self.identity()
        reply: Future[dict[str, Any]] = Future()
        with self._lock:
            self._ensure_started()
            self._next += 1
            message = {
                "id": self._next,
                "folder": str(folder),
                "env": self.controls.env,
                "fixed_addresses": self.controls.fixed_addresses,
                **msgspec.to_builtins(self.limits),
                **request,
            }
            self._waiting[self._next] = reply
            os.write(self._requests, json.dumps(message).encode() + b"\n")
        return reply.result(self.limits.deadline + START_TIMEOUT)

    def close(self) -> None:
        """Stop the worker and everything it runs."""
        with self._lock:
            if self._process is not None:
                os.close(self._requests)
                try:
                    self._process.wait(5)
                except subprocess.TimeoutExpired:
                    self._process.kill()
                self._process = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ensure_started(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        request_reader, self._requests = os.pipe()
        reply_reader, reply_writer = os.pipe()
        self._ready = Future()
        printed = tempfile.TemporaryFile()  # noqa: SIM115  closed by the thread that reads it
        arguments = [str(request_reader), str(reply_writer)]
        given = {
            "descriptors": [d.plain() for d in self.toolchain.descriptors],
            "preload": [] if self.plain and not self.toolchain.hooks else [TLX],
        }
        arguments.append(json.dumps(given))
        try:
            self._process = subprocess.Popen(
                [str(self.toolchain.interpreter), "-s", "-c", _BOOT, str(ROOT), *arguments],
                env={**self.toolchain.env, **self.controls.env},
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                pass_fds=(request_reader, reply_writer),
            )
        except OSError as error:
            printed.close()
            raise HarnessError(
                f"toolchain {self.toolchain.role}",
                f"cannot start {self.toolchain.interpreter}: {error.strerror}",
                "run `tlx-equiv toolchains sync`",
            ) from error
        os.close(request_reader)
        os.close(reply_writer)
        reader = threading.Thread(
            target=self._read,
            args=(reply_reader, self._process, self._ready, printed),
            daemon=True,
        )
        reader.start()

    def _read(
        self,
        descriptor: int,
        process: subprocess.Popen[bytes],
        ready: Future[dict[str, Any]],
        printed: IO[bytes],
    ) -> None:
        with os.fdopen(descriptor, "rb") as replies:
            for line in replies:
                message = json.loads(line)
                if "ready" in message:
                    ready.set_result(message["ready"])
                else:
                    self._waiting.pop(message["id"]).set_result(message)
        status = process.wait()
        with printed:
            printed.seek(0)
            words = printed.read()[-4000:].decode("utf-8", "replace").strip()
        if not ready.done():
            last = words.splitlines()[-1] if words else "no output"
            ready.set_exception(
                HarnessError(
                    f"toolchain {self.toolchain.role} ({self.toolchain.interpreter})",
                    f"its worker ended with status {status} while importing triton: {last}",
                    "run `tlx-equiv toolchains verify`; the full output is:\n" + words,
                )
            )
        while self._waiting:
            _, waiting = self._waiting.popitem()
            waiting.set_result(
                {
                    "signal": "",
                    "exit_status": status,
                    "killed": "worker died",
                    "output": words,
                    "seconds": 0.0,
                }
            )
