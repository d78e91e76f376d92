"""The worker's main loop: import triton once, then fork a child for each request.

Protocol: one JSON object a line, on two private file descriptors; prints of kernels and
compilers go to the children's own pipes and cannot reach it. Every child is a session of its
own with limits on memory, time and disk; when it ends, whatever it started is killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import importlib.util
import json
import os
import resource
import selectors
import signal
import sys
import time
from typing import Any

from harness.worker import hooks, identity, jobs, loading, printing, stepping

HEAD, TAIL = 32 << 10, 32 << 10
POLL = 0.25
PR_SET_CHILD_SUBREAPER = 36
ADDR_NO_RANDOMIZE = 0x0040000


class Output:
    """What a child prints: the first and last bytes, and how many there were."""

    def __init__(self, reader: int) -> None:
        self.reader = reader
        self.head = b""
        self.tail = b""
        self.total = 0

    def take(self) -> bool:
        """Read what is there; False at the end of the stream."""
        try:
            data = os.read(self.reader, 1 << 16)
        except BlockingIOError:
            return True
        self.total += len(data)
        room = HEAD - len(self.head)
        self.head += data[:room]
        self.tail = (self.tail + data[room:])[-TAIL:]
        return bool(data)

    def text(self) -> str:
        """What was printed; a note in the middle says how much is missing."""
        missing = self.total - len(self.head) - len(self.tail)
        gap = f"\n[... {missing} bytes not kept ...]\n".encode() if missing > 0 else b""
        return (self.head + gap + self.tail).decode("utf-8", "replace")


class Child:
    """A forked child at work on one request."""

    def __init__(self, request: dict[str, Any], close: list[int]) -> None:
        self.id = request["id"]
        self.folder = request["folder"]
        self.disk = int(request["disk"])
        self.started = time.monotonic()
        self.deadline = self.started + float(request["deadline"])
        self.killed = ""
        reader, writer = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            for descriptor in [reader, *close]:
                os.close(descriptor)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(writer, 1)
            os.dup2(writer, 2)
            os.close(writer)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_AS, (request["memory"], request["memory"]))
            resource.setrlimit(resource.RLIMIT_FSIZE, (self.disk, self.disk))
            if request["fixed_addresses"]:  # takes effect in what the child executes
                ctypes.CDLL(None).personality(ADDR_NO_RANDOMIZE)
            jobs.run(request, self.folder)
            sys.stdout.flush()
            os._exit(0)
        os.close(writer)
        os.set_blocking(reader, False)
        self.output = Output(reader)
        self.exited = os.pidfd_open(self.pid)  # readable when the child has ended

    def over_limit(self) -> str:
        """Why this child must be killed now, or an empty text."""
        if time.monotonic() > self.deadline:
            return "deadline"
        return "disk" if folder_size(self.folder) > self.disk else ""

    def finish(self, status: int) -> dict[str, Any]:
        """The reply to the request, once the child is gone and its pipe drained."""
        while self.output.take():
            if not self._readable():
                break
        os.close(self.output.reader)
        os.close(self.exited)
        signalled = os.WIFSIGNALED(status)
        return {
            "id": self.id,
            "signal": signal.Signals(os.WTERMSIG(status)).name if signalled else "",
            "exit_status": None if signalled else os.WEXITSTATUS(status),
            "killed": self.killed,
            "output": self.output.text(),
            "seconds": round(time.monotonic() - self.started, 4),
        }

    def _readable(self) -> bool:
        with selectors.DefaultSelector() as selector:
            selector.register(self.output.reader, selectors.EVENT_READ)
            return bool(selector.select(0))


def folder_size(folder: str) -> int:
    """Bytes of all files below ``folder``; files that vanish meanwhile count nothing."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(root, name)).st_size
            except FileNotFoundError:
                continue
    return total


def children_of(pid: int) -> list[int]:
    """The processes that ``pid`` has now, by /proc."""
    found: list[int] = []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
        for thread in os.listdir(f"/proc/{pid}/task"):
            path = f"/proc/{pid}/task/{thread}/children"
            with contextlib.suppress(FileNotFoundError, ProcessLookupError), open(path) as file:
                found += map(int, file.read().split())
    return found


def descendants(pid: int) -> list[int]:
    """All processes below ``pid``."""
    found = children_of(pid)
    for each in found:  # which grows
        found += children_of(each)
    return found


def kill_tree(pid: int) -> None:
    """SIGKILL ``pid`` and everything below it, until nothing of it is left."""
    below = descendants(pid)
    for victim in [pid, *below]:
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            continue


class Server:
    """Serves requests until the request stream closes; then kills what is still running."""

    def __init__(self, requests: int, replies: int) -> None:
        self.requests = requests
        self.replies = replies
        self.children: dict[int, Child] = {}
        self.selector = selectors.DefaultSelector()
        self.buffer = b""
        self.next_look = 0.0

    def reply(self, message: dict[str, Any]) -> None:
        """Send one message."""
        os.write(self.replies, json.dumps(message).encode() + b"\n")

    def serve(self) -> None:
        """The loop."""
        self.selector.register(self.requests, selectors.EVENT_READ)
        open_for_requests = True
        while open_for_requests:
            for key, _ in self.selector.select(POLL if self.children else None):
                if key.fd == self.requests:
                    data = os.read(self.requests, 1 << 16)
                    open_for_requests = bool(data)
                    *lines, self.buffer = (self.buffer + data).split(b"\n")
                    for line in lines:
                        self.start(json.loads(line))
                elif key.fd == key.data.output.reader and not key.data.output.take():
                    self.selector.unregister(key.fd)
            self.reap()
            if time.monotonic() >= self.next_look:
                self.next_look = time.monotonic() + POLL
                self.enforce_limits()
        for pid in list(self.children):
            kill_tree(pid)

    def start(self, request: dict[str, Any]) -> None:
        """Fork a child for ``request``."""
        close = [self.requests, self.replies, self.selector.fileno()]
        for child in self.children.values():
            close += [child.output.reader, child.exited]
        child = Child(request, close)
        self.children[child.pid] = child
        self.selector.register(child.output.reader, selectors.EVENT_READ, child)
        self.selector.register(child.exited, selectors.EVENT_READ, child)

    def enforce_limits(self) -> None:
        """Kill the children that are over their limits."""
        for pid, child in self.children.items():
            if not child.killed and (reason := child.over_limit()):
                child.killed = reason
                kill_tree(pid)

    def reap(self) -> None:
        """Reply for what has ended, and reap orphans."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            ended = self.children.pop(pid, None)
            if ended is None:
                continue
            for descriptor in (ended.output.reader, ended.exited):
                if descriptor in self.selector.get_map():
                    self.selector.unregister(descriptor)
            self.kill_orphans()
            cpu = round(usage.ru_utime + usage.ru_stime, 4)
            self.reply({**ended.finish(status), "cpu": cpu})

    def kill_orphans(self) -> None:
        """Kill what an ended child left behind: we are its subreaper, so it is now ours."""
        for pid in children_of(os.getpid()):
            if pid not in self.children:
                kill_tree(pid)


def warm(modules: list[str]) -> None:
    """Do once what every child would do again: import ``modules`` (those that are there) and
    what the fork imports at its first compilation only (45 ms), and hash the whole of Triton,
    which its cache key asks for (about 0.3 s)."""
    from triton.runtime import cache  # type: ignore[import-not-found]

    for module in [*modules, "triton.compiler.code_generator"]:
        if importlib.util.find_spec(module) is not None:
            importlib.import_module(module)
    cache.triton_key()
    gc.freeze()  # a child's collector would otherwise write to, and so copy, all these pages


def main(argv: list[str]) -> None:
    """``argv``: the two file descriptors, and JSON with ``descriptors`` of the plugins that
    must be proven loaded, and ``preload``, modules that children need at once."""
    requests, replies = int(argv[0]), int(argv[1])
    given = json.loads(argv[2])
    for descriptor in (requests, replies):
        os.set_inheritable(descriptor, False)
    descriptors = given["descriptors"]
    server = Server(requests, replies)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the harness decides when to stop
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before = identity.before_import(descriptors)
    import triton.compiler  # type: ignore[import-not-found]  # noqa: F401  children start warm
    from triton._C import libtriton  # type: ignore[import-not-found]

    loading.extend(descriptors, libtriton)
    after = identity.after_import(before, descriptors)
    warm(given["preload"])
    printing.locate(libtriton)
    stepping.install(libtriton)
    hooks.install([d["hook"] for d in descriptors if d["hook"]])
    identity.prove_hooks(after)
    server.reply({"ready": after})
    server.serve()
