"""What the harness costs: against bare ``triton.compile``, and against a plain script.

Run by ``make bench``. All on this machine, in one go, over the same cases:

- *bare*: ``triton.compile`` alone, timed for each case with a fresh cache in a process of its
  own, as the harness gives each case one; the process is forked from one that has imported
  triton and hashed it (0.3 s that Triton spends once in a process). As many run at once as
  the harness has jobs. The sum, divided by the jobs, is the ideal.
- *cold*: ``tlx-equiv`` on an empty store; *warm*: again on the full one; *with explanations*:
  on another empty store.
- *plain script*: what one writes first, a fresh interpreter per case and side.

The speed of a shared machine drifts by a third within minutes. So the cases are dealt into
slices, and each slice is timed in every way before the next.

A case that differs is compiled twice on each side (rule: nobody is blamed on one
compilation), so the ideal counts each case as often as the harness compiled it. The last
lines count each case once.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import subprocess
import sys
import tempfile
import time
from collections import ChainMap
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from harness.batches import evaluate_all
from harness.cli import options
from harness.compile import default_jobs, target_of
from harness.corpus import Corpus
from harness.model import Case
from harness.session import Session
from harness.store import Store
from harness.workers import ROOT

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
cache.triton_key()
for line in sys.stdin:
    request = json.loads(line)
    case = request["case"]
    child = os.fork()
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
    os._exit(0)
"""
SLICE = 60  # cases, about half a minute each way


class Times(msgspec.Struct):
    """Seconds, over all slices: of the whole run where nothing else is said."""

    bare: dict[str, dict[str, float]] = {}
    """Case -> role -> of one compilation."""
    script: float = 0.0
    cold: float = 0.0
    warm: float = 0.0
    explained: float = 0.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table, and return 0 if every target is met, else 1."""
    parser = argparse.ArgumentParser(prog="python -m harness.bench", description=__doc__)
    parser.add_argument("patterns", nargs="*", help="globs on case ids")
    parser.add_argument("--jobs", type=int, default=default_jobs())
    parser.add_argument("--every", type=int, default=1, help="take every so many-th case")
    given = parser.parse_args(arguments)
    corpus = options.open_corpus(None)
    cases = corpus.select(given.patterns)[:: given.every]
    times, twice = _measure(corpus, cases, given.jobs)

    def bare(chosen: Iterable[str]) -> float:
        return sum(sum(times.bare[case].values()) for case in chosen) / float(given.jobs)

    once = bare(times.bare)
    ideal = once + bare(twice)
    table = Table(
        title=f"{len(cases)} cases, {len(twice)} of them compiled twice, {given.jobs} jobs"
    )
    table.add_column("")
    for column in ("value", "target"):
        table.add_column(column, justify="right")
    table.add_column("")
    met = True
    for name, value, sign, target in (
        ("cold / bare compile of the same compilations", times.cold / ideal, "<=", 1.25),
        ("warm / cold", times.warm / times.cold, "<=", 0.05),
        ("plain script, each case once per side / cold", times.script / times.cold, ">=", 3.0),
        ("cold with explanations / cold", times.explained / times.cold, "<=", 1.5),
    ):
        good = value >= target if sign == ">=" else value <= target
        met &= good
        table.add_row(name, f"{value:.3f}", f"{sign} {target}", "met" if good else "NOT MET")
    table.add_row("cold / bare compile, each case counted once", f"{times.cold / once:.3f}")
    for label, seconds in (
        ("bare / jobs", ideal),
        ("cold", times.cold),
        ("warm", times.warm),
        ("with explanations", times.explained),
    ):
        table.add_row(f"{label} (s)", f"{seconds:.1f}")
    Console().print(table)
    return 0 if met else 1


def _measure(corpus: Corpus, cases: Sequence[Case], jobs: int) -> tuple[Times, list[str]]:
    """All times, and the ids of the cases that the harness compiled twice."""
    times = Times()
    twice: list[str] = []
    slices = max(1, len(cases) // SLICE)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tlx-equiv-bench-")))
        status = stack.enter_context(Console(stderr=True).status(""))

        def session(store: str, explaining: bool) -> Session:
            opening = options.opening(Store(folder / store), explaining=explaining)
            return stack.enter_context(opening.session(options.open_ledger(corpus)))

        plain, again, explained = (
            session("plain", False),
            session("plain", False),
            session("explained", True),
        )
        for number in range(slices):
            part = cases[number::slices]
            where = f"slice {number + 1} of {slices}:"
            status.update(f"{where} bare triton.compile ...")
            times.bare |= _bare(plain, part, jobs)
            status.update(f"{where} plain script ...")
            times.script += _script(plain, part[::20]) * len(part) / len(part[::20])
            status.update(f"{where} harness, cold ...")
            seconds, results = _timed(plain, part, jobs)
            times.cold += seconds
            twice += [result.case.id for result in results if result.rechecked]
            status.update(f"{where} harness, explanations ...")
            times.explained += _timed(explained, part, jobs)[0]
        status.update("harness, warm ...")
        times.warm = _timed(again, cases, jobs)[0]
    return times, twice


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


def _bare(session: Session, cases: Sequence[Case], jobs: int) -> dict[str, dict[str, float]]:
    """Case -> role -> seconds of bare ``triton.compile``, ``jobs`` of them at once."""
    dealt = [cases[hand::jobs] for hand in range(jobs)]
    with ThreadPoolExecutor(jobs) as pool:
        found = {
            role: ChainMap(*pool.map(functools.partial(_alone, session, role), dealt))
            for role in session.roles
        }
    return {case.id: {role: of[case.id] for role, of in found.items()} for case in cases}


def _alone(session: Session, role: str, cases: Sequence[Case]) -> dict[str, float]:
    """Case -> seconds, one after the other; a crash gives no time, and is not counted."""
    toolchain = session.toolchains[role]
    found = {}
    process = None
    for case in cases:
        if process is None or process.poll() is not None:
            process = subprocess.Popen(
                [toolchain.interpreter, "-s", "-c", BARE, str(ROOT)],
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
        found[case.id] = float(answer) if answer else 0.0
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
                [toolchain.interpreter, "-s", "-c", BARE, str(ROOT)],
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
