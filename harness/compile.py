"""Compile cases: one worker process per toolchain, a forked child per case.

``Worker`` speaks to ``harness/worker/server.py``; ``compile_case`` turns what a child left
behind into a stored Compilation. Compilations are incremental: the key covers everything that
went in, and a sound stored result is returned as it is.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import IO, Any

import msgspec

from harness.errors import HarnessError
from harness.model import Case, Compilation, Failure, Outcome, PassStep
from harness.scratch import scratch
from harness.store import Store
from harness.toolchains import Controls, Toolchain

CAPTURE_VERSION = 7
START_TIMEOUT = 120.0
TLX = "triton.language.extra.tlx"
ROOT = Path(__file__).resolve().parent.parent
_LACKS = re.compile(r"module '(triton|utlx|tlx)[\w.]*' has no attribute")
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


def compile_key(case: Case, fingerprint: str, controls: Controls) -> str:
    """The sha256 over everything that a compilation depends on."""
    helpers = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(Path(case.folder).glob("*.py"))
        if path.name not in ("kernel.py", "case.py")
    }
    parts = msgspec.to_builtins(case)
    for name in ("folder", "expect", "baseline", "runnable", "family"):
        parts.pop(name, None)
    parts |= {
        "fingerprint": fingerprint,
        "controls": controls.described,
        "helpers": helpers,
        "capture": CAPTURE_VERSION,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def compile_case(
    worker: Worker,
    case: Case,
    fingerprint: str,
    store: Store,
    *,
    again: bool = False,
    fresh: bool = False,
    snapshots: bool = False,
    companions: Iterable[Worker] = (),
) -> Compilation:
    """Compile ``case``, or return the stored result if nothing that went in has changed.

    ``again`` compiles in a fresh process without stepping, for a second opinion that is kept
    apart from the first. ``fresh`` ignores what is stored. ``snapshots`` keeps the IR after each
    pass, which explanations need. ``companions`` are workers that will be asked next: if
    anything is to be compiled they start now, all at once.
    """
    key = compile_key(case, fingerprint, worker.controls)
    kind = "again" if again else "compile"
    stored = store.load("again", key, Compilation) if again else store.load_compilation(key)
    if stored is not None and not fresh:
        return stored
    for each in companions:
        each.start()
    request = {
        "job": "compile",
        "step": not again,
        "snapshots": snapshots,
        "case": msgspec.to_builtins(case),
        "target": target_of(case),
        "options": options_for(worker, case),
    }
    with scratch(store) as folder:
        ended = worker.run(request, folder)
        compilation = _collect(case, key, worker, fingerprint, ended, folder, store, not again)
        if snapshots:
            store.keep_snapshots(key, _snapshots(compilation.trace, folder / "ir"))
        elif not again:
            store.drop_snapshots(key)  # of an earlier compilation
        if compilation.failure is None or compilation.failure.phase != "harness":
            store.save(kind, key, compilation)
    return compilation


def options_for(worker: Worker, case: Case) -> dict[str, object]:
    """The compile options of a case on one side: the lane's, the case's own, and those that a
    plugin turns into others at launch (its descriptor's ``launch_options``), turned likewise.

    A plugin's launch path is not taken when a kernel is only compiled, so its translation
    would be missed: uTLX makes ``ctas_per_cga = (N, 1, 1)`` into ``num_ctas = N`` there.
    """
    options: dict[str, object] = {**worker.controls.options, **case.options}
    for descriptor in worker.toolchain.descriptors:
        for name, becomes in descriptor.launch_options.items():
            value = options.pop(name, None)
            if isinstance(value, (list, tuple)) and value and value[0] != 1:
                options[becomes] = value[0]
    return options


def target_of(case: Case) -> list[str | int]:
    """The arguments of Triton's GPUTarget: backend, architecture, threads per warp."""
    target = case.target
    arch = int(target.arch) if target.backend == "cuda" else target.arch
    return [target.backend, arch, target.warp_size]


def _collect(
    case: Case,
    key: str,
    worker: Worker,
    fingerprint: str,
    ended: dict[str, Any],
    folder: Path,
    store: Store,
    stepped: bool,
) -> Compilation:
    artifacts = {}
    for stage in case.target.stages:
        for path in sorted((folder / "cache").glob(f"*/*.{stage}")):
            name = f"raw.{stage}" if stage in ("ttir", "ttgir") else stage
            artifacts[name] = store.put(path.read_bytes())
    for path in sorted((folder / "checkpoints").glob("*")):
        artifacts[path.name] = store.put(path.read_bytes())
    result_path = folder / "result.json"
    result = json.loads(result_path.read_text()) if result_path.exists() else None
    if result and result.get("metadata"):
        text = json.dumps(result["metadata"], sort_keys=True, indent=1)
        artifacts["metadata"] = store.put(text.encode())
    if ended["output"]:
        artifacts["stderr"] = store.put(ended["output"].encode())
    trace: list[PassStep] = []
    trace_path = folder / "trace.jsonl"
    if trace_path.exists():
        lines = trace_path.read_text().splitlines()
        trace = [msgspec.json.decode(line, type=PassStep) for line in lines]
    outcome, failure = _failure(result, ended, folder)
    names = folder / "names"
    return Compilation(
        case=case.id,
        key=key,
        role=worker.toolchain.role,
        fingerprint=fingerprint,
        outcome=outcome,
        artifacts=artifacts,
        trace=tuple(trace),
        failure=failure,
        seconds=ended["seconds"],
        stepped=stepped,
        printed_errors=_diagnostic(ended["output"]) if outcome is Outcome.OK else "",
        names=tuple(sorted(names.read_text().split())) if names.exists() else (),
    )


def _snapshots(trace: Sequence[PassStep], path: Path) -> Iterator[tuple[str, bytes]]:
    """The IR texts that the child's Recorder left in one file, each where it is first named."""
    sizes = {step.sha256: step.size for step in trace if step.snapshot}
    if sizes:
        with open(path, "rb") as file:
            for sha, size in sizes.items():
                yield sha, file.read(size)


def _failure(
    result: dict[str, Any] | None, ended: dict[str, Any], folder: Path
) -> tuple[Outcome, Failure | None]:
    progress = folder / "progress"
    now = progress.read_text().strip() if progress.exists() else ""
    phase, _, pass_name = now.partition("\t")
    common = {
        "phase": phase or "start",
        "pass_name": pass_name.strip(),
        "exit_status": ended["exit_status"],
        "signal": ended["signal"],
        "stderr_tail": ended["output"][-6000:],
    }
    if ended["killed"] == "worker died":
        common["phase"] = "harness"
        return Outcome.CRASH, Failure(message="the worker itself died", **common)
    if ended["killed"] == "deadline":
        return Outcome.TIMEOUT, Failure(
            message=f"killed after {ended['seconds']:.0f} s (its deadline)", **common
        )
    if ended["killed"] == "disk":
        return Outcome.CRASH, Failure(
            message="killed: it wrote more into its folder than its limit", **common
        )
    if result is None:
        how = f"died of {ended['signal']}" if ended["signal"] else "ended the process"
        if not ended["signal"]:
            how += f" with exit status {ended['exit_status']}"
        return Outcome.CRASH, Failure(message=_diagnostic(ended["output"]) or how, **common)
    if result["ok"]:
        return Outcome.OK, None
    words = _diagnostic(ended["output"])
    message = result["message"] if not words else f"{result['message']}\n{words}"
    outcome = Outcome.UNSUPPORTED if _unsupported(result) else Outcome.ERROR
    return outcome, Failure(message=message, exception=result["exception"], **common)


def _unsupported(result: dict[str, Any]) -> bool:
    """Whether a side lacks the name or option asked for, rather than rejecting its use."""
    return any(
        _LACKS.search(text)
        or "unexpected keyword argument" in text
        or "compatible backends for target" in text
        or text.startswith("ModuleNotFoundError")
        for text in result["chain"]
    )


def _diagnostic(output: str) -> str:
    """The compiler's own error lines in what a child printed, at most ten."""
    marks = ("error:", "LLVM ERROR", "Assertion", "fatal error")
    found = [line.strip() for line in output.splitlines() if any(m in line for m in marks)]
    return "\n".join(dict.fromkeys(found[:10]))


def default_jobs() -> int:
    """As many compilations at once as this process may use cores."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
