"""Compile cases: what a worker's child leaves behind becomes a stored Compilation.

Compilations are incremental: the key covers everything that went in, and a sound stored result
is returned as it is.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from harness.model import Case, Compilation, Failure, Outcome, PassStep
from harness.scratch import scratch
from harness.store import Store
from harness.toolchains import Controls
from harness.workers import Worker

CAPTURE_VERSION = 7
_LACKS = re.compile(r"module '(triton|utlx|tlx)[\w.]*' has no attribute")


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
