"""What the harness costs: against bare ``triton.compile``, and against a plain script.

Run by ``make bench``. All on this machine, in one go, over the same cases:

- *bare*: ``triton.compile`` alone, timed for each case with a fresh cache in a process of its
  own, as the harness gives each case one; the process is forked from one that has imported
  triton and hashed it (0.3 s that Triton spends once in a process). The sum, divided by the
  jobs, is the ideal.
- *cold*: ``tlx-equiv`` on an empty store; *warm*: again on the full one; *with explanations*:
  on another empty store.
- *plain script*: what one writes first, a fresh interpreter per case and side.

A case that differs is compiled twice on each side (rule: nobody is blamed on one
compilation), so the ideal counts each case as often as the harness compiled it. The last
lines count each case once, and compile all cases in one process, which is faster after the
first.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from harness.batches import evaluate_all
from harness.cli import options
from harness.compile import ROOT, default_jobs, target_of
from harness.model import Case
from harness.session import Session
from harness.store import Store

BARE = """
import json, os, sys, tempfile, time
sys.path.insert(0, sys.argv[1])
from harness.worker import jobs, server, source
sys.path.pop(0)
import triton.compiler
from triton.runtime import cache
from triton.backends.compiler import GPUTarget
out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
alone = sys.argv[2] == "alone"
if alone:
    cache.triton_key()
for line in sys.stdin:
    request = json.loads(line)
    case = request["case"]
    child = os.fork() if alone else 0
    if child:
        if os.waitpid(child, 0)[1]:  # it crashed: no time, not counted
            print(0, file=out, flush=True)
        continue
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(request["env"], TRITON_CACHE_DIR=folder)
        kernel = source.load_kernel(
            case["source"], case["virtual_path"], case["folder"], case["function"])
        src = jobs.make_source(kernel, case)
        jobs.pretend(GPUTarget(*request["target"]))
        began = time.perf_counter()
        try:
            triton.compile(
                src, target=GPUTarget(*request["target"]), options=jobs.options_of(request))
        except BaseException:
            pass
        print(time.perf_counter() - began, file=out, flush=True)
    if alone:
        os._exit(0)
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table, and return 0 if every target is met, else 1."""
    parser = argparse.ArgumentParser(prog="python -m harness.bench", description=__doc__)
    parser.add_argument("patterns", nargs="*", help="globs on case ids")
    parser.add_argument("--jobs", type=int, default=default_jobs())
    parser.add_argument("--every", type=int, default=3, help="take every so many-th case")
    given = parser.parse_args(arguments)
    corpus = options.open_corpus(None)
    cases = corpus.select(given.patterns)[:: given.every]
    console = Console(stderr=True)
    with tempfile.TemporaryDirectory(prefix="tlx-equiv-bench-") as folder:
        stores = [Store(Path(folder) / name) for name in ("plain", "explained")]

        def session(explaining: bool) -> Session:
            return options.open_session(
                corpus, stores[explaining], "controlled", None, explaining=explaining
            )

        with console.status("bare triton.compile ..."), session(False) as plain:
            bare = {role: _bare(plain, role, cases, "alone") for role in plain.roles}
            together = {role: _bare(plain, role, cases, "together") for role in plain.roles}
        with console.status("harness, cold ..."), session(False) as first:
            cold, results = _timed(first, cases, given.jobs)
        with console.status("harness, warm ..."), session(False) as second:
            warm, _ = _timed(second, cases, given.jobs)
        with console.status("harness, explanations ..."), session(True) as third:
            explained, _ = _timed(third, cases, given.jobs)
        with console.status("plain script ..."), session(False) as fourth:
            sample = cases[:: max(1, len(cases) // 20)]
            script = _script(fourth, sample) * len(cases) / len(sample)
    once = sum(sum(times.values()) for times in bare.values())
    twice = {result.case.id for result in results if result.rechecked}

    def ideal(times: dict[str, dict[str, float]]) -> float:
        whole = 0.0
        for of in times.values():
            whole += sum(of.values()) + sum(of[case] for case in twice)
        return whole / float(given.jobs)

    table = Table(
        title=f"{len(cases)} cases, {len(twice)} of them compiled twice, {given.jobs} jobs"
    )
    for column, justify in (("", "left"), ("value", "right"), ("target", "right"), ("", "left")):
        table.add_column(column, justify=justify)  # type: ignore[arg-type]
    rows = (
        ("cold / bare compile of the same compilations", cold / ideal(bare), 1.25),
        ("warm / cold", warm / cold, 0.05),
        ("plain script, each case once per side / cold", script / cold, 3.0),
        ("cold with explanations / cold", explained / cold, 1.5),
    )
    met = True
    for name, value, target in rows:
        good = value >= target if target == 3.0 else value <= target
        met &= good
        sign = ">=" if target == 3.0 else "<="
        table.add_row(name, f"{value:.3f}", f"{sign} {target}", "met" if good else "NOT MET")
    table.add_row("cold / bare compile, each case counted once", f"{cold * given.jobs / once:.3f}")
    table.add_row("cold / bare compile in one process", f"{cold / ideal(together):.3f}")
    for label, seconds in (
        ("bare / jobs", ideal(bare)),
        ("cold", cold),
        ("warm", warm),
        ("with explanations", explained),
    ):
        table.add_row(f"{label} (s)", f"{seconds:.1f}")
    Console().print(table)
    return 0 if met else 1


def _timed(session: Session, cases: Sequence[Case], jobs: int) -> tuple[float, list]:  # type: ignore[type-arg]
    began = time.perf_counter()
    results = evaluate_all(session, cases, jobs, lambda case, result: None)
    return time.perf_counter() - began, results


def _request(session: Session, case: Case) -> str:
    controls = session.controls
    return json.dumps(
        {
            "case": msgspec.to_builtins(case),
            "env": controls.env,
            "target": target_of(case),
            "options": {**controls.options, **case.options},
        }
    )


def _bare(session: Session, role: str, cases: Sequence[Case], how: str) -> dict[str, float]:
    """Seconds of bare ``triton.compile`` for each case: each in a process of its own
    (``alone``) or all in one (``together``)."""
    toolchain = session.toolchains[role]
    found = {}
    process = None
    for case in cases:
        if process is None or process.poll() is not None:
            process = subprocess.Popen(
                [toolchain.interpreter, "-s", "-c", BARE, str(ROOT), how],
                env=toolchain.env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(_request(session, case) + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        found[case.id] = float(answer) if answer else 0.0  # a crash gives no time: not counted
        if not answer:
            process.wait()
    if process is not None and process.stdin is not None:
        process.stdin.close()
        process.wait()
    return found


def _script(session: Session, cases: Sequence[Case]) -> float:
    """Wall seconds of a fresh interpreter per case and side, one after the other."""
    began = time.perf_counter()
    for case in cases:
        for toolchain in session.toolchains.values():
            subprocess.run(
                [toolchain.interpreter, "-s", "-c", BARE, str(ROOT), "together"],
                env=toolchain.env,
                input=_request(session, case) + "\n",
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                text=True,
                check=False,
            )
    return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(main())
