"""A process that measures cases on one GPU, one after the other, until its input ends.

It speaks JSON lines: requests on standard input, messages on standard output. It says what it
is about to do, so that whoever watches knows whose launch it hung or died in. After any CUDA
error it leaves, because its context may be lost; its parent starts another.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import os
import queue
import re
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import torch

from harness.errors import HarnessError
from harness.parity import measure, speed
from harness.parity.bundle import Bundle
from harness.parity.launcher import Launcher
from harness.parity.protocol import LOCATING, Message, Request
from harness.parity.result import State


class Server:
    """Serves requests on the one GPU that CUDA_VISIBLE_DEVICES leaves visible."""

    def __init__(self, bundle: Bundle, descriptor: int) -> None:
        self._bundle = bundle
        self._channel = os.fdopen(descriptor, "wb", buffering=0)
        self._requests: queue.Queue[Request] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def run(self, slot: str, launcher: str) -> None:
        """Serve until a CUDA error; holds the GPU's lock meanwhile."""
        self.say(Message("waiting"))
        with gpu_lock(slot):
            try:
                device = open_launcher(launcher)
            except HarnessError as problem:
                self.say(Message("refused", problem.thing, f"{problem.cause}\n{problem.way_out}"))
                return
            self.say(Message("ready", device=device.info))
            while self._answer(self._requests.get(), device):
                pass

    def say(self, message: Message) -> None:
        """Send one message to the parent."""
        self._channel.write(msgspec.json.encode(message) + b"\n")

    def _listen(self) -> None:
        """Take requests; when the parent is gone, leave, even from a launch that never ends."""
        # Unbuffered: a buffer's lock, held by this thread, would break the interpreter's exit.
        for line in os.fdopen(os.dup(0), "rb", buffering=0):
            self._requests.put(msgspec.json.decode(line, type=Request))
        os._exit(0)

    def _answer(self, request: Request, device: Launcher) -> bool:
        """Measure one case; False when this process must not measure another."""
        try:
            self._measure(request, device)
        except HarnessError as problem:
            self.say(Message("skipped", what=f"{problem.thing}: {problem.cause}"))
        except torch.OutOfMemoryError as error:
            self.say(Message("skipped", what=f"out of GPU memory: {_first_line(error)}"))
        except RuntimeError as error:  # torch and the launcher report CUDA errors as this
            self.say(Message("fault", what=_first_line(error)))
            return False
        return True

    def _measure(self, request: Request, device: Launcher) -> None:
        case = self._bundle.case(request.case)

        def announce(side: str, what: str) -> None:
            self.say(Message("doing", side, what))

        sides = measure.load_sides(case, self._bundle, device, request.roles, announce)
        result = measure.measure(case, self._bundle, device, sides, announce)
        if result.state is State.STRAY_WRITE:  # would write over other memory when timed
            self.say(Message("result", result=result))
            return
        self.say(Message("result", result=result, final=False))
        result = msgspec.structs.replace(
            result, speed=speed.measure(case, device, sides.kernels, announce)
        )
        differs = result.state is State.DIFFERENT
        self.say(Message("result", result=result, final=not differs))
        if differs:
            announce("", LOCATING)
            located = measure.locate(case, device, sides, result)
            self.say(Message("result", result=located))


def open_launcher(name: str) -> Launcher:
    """The launcher ``module:class``; raises HarnessError where there is no GPU for it."""
    module, _, kind = name.partition(":")
    launcher: Launcher = getattr(importlib.import_module(module), kind)()
    return launcher


@contextlib.contextmanager
def gpu_lock(slot: str) -> Iterator[None]:
    """Hold the machine-wide lock of one GPU, so that nobody's timing is disturbed by us."""
    name = re.sub(r"[^A-Za-z0-9-]", "_", slot)
    path = Path(tempfile.gettempdir()) / f"tlx-equiv-gpu-{name}.lock"
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o666))
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _first_line(error: BaseException) -> str:
    return (str(error) or repr(error)).splitlines()[0]


def main(arguments: list[str]) -> None:
    """``BUNDLE SLOT LAUNCHER``."""
    path, slot, launcher = arguments
    # Whatever else prints must not end up between the messages.
    descriptor = os.dup(1)
    os.dup2(2, 1)
    with Bundle(Path(path)) as bundle:
        Server(bundle, descriptor).run(slot, launcher)
    os._exit(0)  # tearing down a lost CUDA context can hang


if __name__ == "__main__":
    main(sys.argv[1:])
