"""``tlx-equiv bundle`` and ``parity``: to a GPU host, and on it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from harness import run as runs
from harness.cli import options
from harness.corpus import contents
from harness.errors import HarnessError
from harness.model import Case, Outcome
from harness.parity.build import Compiled, write_bundle
from harness.parity.result import ParityReport, ParityResult, State
from harness.parity.session import run_parity
from harness.result import CaseResult

_FINDINGS_SHOWN = 60


def bundle(
    patterns: options.Patterns = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The bundle.")] = Path(
        "parity.tar"
    ),
    run: options.RunDir = options.OUT,
    corpus: options.CorpusDirs = None,
    target: options.Targets = None,
    store: options.StoreDir = None,
) -> None:
    """Pack the runnable cases of a run for a GPU host: binaries, inputs, references."""
    record = runs.load(run)
    found = options.open_corpus(corpus)
    results = {result.case.id: result for result in record.results}
    skipped: dict[str, str] = {}
    compiled: list[Compiled] = []
    for case in found.select(patterns or (), target or ()):
        result = results.get(case.id)
        skipped[case.id] = _why_not(case, result)
        if result is not None and not skipped[case.id]:
            kernel, spec = found.kernels[case.id]
            compiled.append((case, spec, kernel, result.compilations))
    reasons = Counter(filter(None, skipped.values())).most_common()
    if not compiled:
        raise HarnessError(
            f"bundle {output}",
            "nothing to launch: " + ", ".join(f"{count} {why}" for why, count in reasons),
            "run cases that state a launch first, or name others",
        )
    with _progress() as progress:
        task = progress.add_task("bundling", total=len(compiled))
        manifest = write_bundle(
            compiled,
            options.open_store(store),
            output,
            record.toolchains,
            progress=lambda done, _, case: progress.update(
                task, completed=done + 1, description=case[:60]
            ),
        )
    size = output.stat().st_size / 1e6
    print(f"{output}: {len(manifest.cases)} cases, {size:.1f} MB")
    for why, count in reasons:
        print(f"  {count} skipped: {why}")
    for case_id, why in manifest.skipped.items():
        print(f"  skipped {case_id}: {why}")
    print(f"on the GPU host: tlx-equiv parity {output.name} -o parity.json")


def parity(
    bundle: Annotated[Path, typer.Argument(help="What `tlx-equiv bundle` wrote.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The report; a killed run resumes.")
    ] = Path("parity.json"),
    quiet: Annotated[
        float, typer.Option(min=1.0, help="Seconds after which a launch counts as hung.")
    ] = 60.0,
    json: options.Json = False,
) -> None:
    """Launch a bundle's binaries on this machine's GPUs: bits, truth, stray writes, speed.

    Exit status: 0 all equal and none slower, 1 findings, 2 it could not be done.
    """
    with _progress() as progress:
        task = progress.add_task("starting", total=None)

        def show(done: int, total: int, result: ParityResult) -> None:
            progress.update(task, completed=done, total=total, description=result.case[:60])

        report = run_parity(bundle, output, progress=show, quiet=quiet)
    if json:
        options.print_json(report)
    else:
        _print_report(report, output)
    raise typer.Exit(1 if report.findings() else 0)


def _why_not(case: Case, result: CaseResult | None) -> str:
    """Why a case cannot be bundled; empty if it can."""
    if not case.runnable:
        return "its case.py states no launch"
    if result is None:
        return "not in the run"
    if any(c.outcome is not Outcome.OK for c in result.compilations.values()):
        return "does not compile on both sides"
    # References and inputs come from case.py as it is now: they must be those of the binary.
    return "" if contents(case) == contents(result.case) else "changed since the run"


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
    )


def _print_report(report: ParityReport, output: Path) -> None:
    console = Console(soft_wrap=True)
    findings = report.findings()
    table = Table(box=None)
    for column in ("case", "verdict", "speed", "reason"):
        table.add_column(column, overflow="fold")
    for result in findings[:_FINDINGS_SHOWN]:
        table.add_row(
            Text(result.case), Text(result.verdict), Text(_speed(result)), Text(result.reason)
        )
    if findings:
        console.print(table)
    if len(findings) > _FINDINGS_SHOWN:
        console.print(f"... {len(findings) - _FINDINGS_SHOWN} more in {output}")
    for verdict, count in report.counts().items():
        console.print(f"{count:5} {verdict}", highlight=False)
    elsewhere = sum(r.state is State.SKIPPED for r in report.results)
    if elsewhere:
        console.print(f"{elsewhere} cases were not launched; {output} says why of each")
    slower = sum(result.slower for result in report.results)
    gpus = ", ".join(dict.fromkeys(device.name for device in report.gpus.values()))
    console.print(f"{len(report.results)} cases on {gpus}, {slower} slower beyond noise: {output}")


def _speed(result: ParityResult) -> str:
    speed = result.speed
    if speed is None:
        return ""
    if len(speed.sides) < 2:
        return speed.verdict
    return f"{speed.verdict} {speed.ratio:.3f} [{speed.low:.3f}, {speed.high:.3f}]"
