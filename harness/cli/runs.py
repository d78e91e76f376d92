"""``tlx-equiv run`` and ``tlx-equiv report``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from harness import judge, shards
from harness import matrix as matrices
from harness import run as engine
from harness import trend as history
from harness.cli import options
from harness.cluster import Cluster
from harness.compile import default_jobs
from harness.corpus import Corpus
from harness.errors import HarnessError
from harness.model import Case, Verdict
from harness.result import CaseResult, Part, Run, Status
from harness.session import Session
from harness.store import Store
from reports import write_report

SYMBOLS = {
    Verdict.IDENTICAL: ("=", "green"),
    Verdict.EQUIVALENT: ("~", "green"),
    Verdict.DIFFERENT: ("x", "yellow"),
    Verdict.NONDETERMINISTIC: ("?", "red"),
}
COLOURS = {
    Status.PASS: "green",
    Status.EXPECTED: "cyan",
    Status.REFUSED: "magenta",
    Status.NEW: "bold red",
    Status.CHANGED: "bold red",
    Status.BROKEN: "bold red",
}


def run(
    patterns: options.Patterns = None,
    corpus: options.CorpusDirs = None,
    target: options.Targets = None,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=1, help="Compilations at once.")
    ] = default_jobs(),
    out: Annotated[Path, typer.Option(help="Where run.json goes.")] = options.OUT,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Compile everything again, whatever is stored.")
    ] = False,
    lane: options.Lane = "controlled",
    toolchain: options.Overrides = None,
    sides: options.Sides = options.SIDES,
    plugin: options.Plugins = None,
    store: options.StoreDir = None,
    shard: Annotated[
        str | None, typer.Option(metavar="I/N", help="Only the I-th of N shares of the cases.")
    ] = None,
    costs: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Share them out by what they cost in that run."),
    ] = None,
    with_artifacts: Annotated[
        bool,
        typer.Option("--with-artifacts", help="Put what reports and bundles need beside run.json."),
    ] = False,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Evaluate on the Dask cluster there, e.g. tcp://host:8786."
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Compile cases through both sides, compare every stage, and judge the differences."""
    found = options.open_corpus(corpus)
    chosen, part = _share(found.select(patterns or (), target or ()), shard, costs)
    width = None if sys.stdout.isatty() else 140
    console = Console(stderr=json, width=width)
    kept = options.open_store(store)
    opening = options.opening(kept, lane, toolchain, fresh=fresh, sides=sides, plugins=plugin)
    with opening.session(options.open_ledger(found)) as session:
        record = execute(
            session,
            found,
            chosen,
            jobs,
            "tlx-equiv " + " ".join(sys.argv[1:]),
            part,
            Cluster(scheduler, opening, session).evaluate_all if scheduler else None,
        )
    path = engine.save(record, out)
    if with_artifacts:
        engine.carry(record, kept, Store(out / engine.ARTIFACTS))
    for finding in session.findings:  # a problem would have ended the run
        console.print(Text(f"note: {finding.thing}: {finding.cause}", "dim"), soft_wrap=True)
    if json:
        options.print_json(record)
    else:
        console.print(_table(record))
        for line in summary(record):
            console.print(line, soft_wrap=True)
        console.print(f"run: {path}; report: tlx-equiv report {out}", soft_wrap=True)
    raise typer.Exit(judge.exit_status(record))


def execute(
    session: Session,
    corpus: Corpus,
    cases: Sequence[Case],
    jobs: int,
    command: str,
    part: Part | None = None,
    elsewhere: engine.Elsewhere | None = None,
) -> Run:
    """Run ``cases`` and show on stderr how far it is; ``command`` goes into the record. For
    ``part`` and ``elsewhere`` see ``harness.run.execute``."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("compiling", total=len(cases))

        def done(case: Case, result: CaseResult | HarnessError) -> None:
            progress.update(task, advance=1, description=case.id[:60])

        return engine.execute(
            session,
            corpus,
            cases,
            jobs,
            command,
            version("tlx-equiv"),
            done,
            part=part,
            elsewhere=elsewhere,
        )


def report(
    run: Annotated[Path, typer.Argument(help="The run's folder.")] = options.OUT,
    out: Annotated[Path, typer.Option(help="Where the pages go.")] = Path("build/report"),
    matrix: options.MatrixFile = options.MATRIX,
    store: options.StoreDir = None,
) -> None:
    """Write the HTML report (index.html and a page per kernel) and summary.md.

    A history.json beside run.json, as `nightly` writes it, adds what changed and the trends;
    the record of `matrix`, if there is one, the version matrix.
    """
    kept = options.open_store(store)
    index = write_report(engine.load(run), kept, out, history.load(run), matrices.load(matrix))
    print(f"report: {index}")


def _share(
    cases: tuple[Case, ...], shard: str | None, costs: Path | None
) -> tuple[tuple[Case, ...], Part | None]:
    """The cases of one shard, and the record of it; all of them without ``shard``."""
    if shard is None:
        if costs is not None:
            raise HarnessError(
                f"--costs {costs}", "there is nothing to share out", "add --shard I/N"
            )
        return cases, None
    index, total = shards.parse(shard)
    known = shards.recorded_costs(engine.load(costs)) if costs else {}
    shares = shards.divide(cases, known, total)
    return shares[index - 1], shards.part(shares, index)


def summary(run: Run) -> list[Text]:
    """The last lines of a run: per stage, then what is new, expected and broken."""
    lines = []
    if run.void:
        lines.append(Text(f"VOID, nothing was measured: {run.void}", "bold red"))
    for stage, counts in engine.stage_counts(run).items():
        total = sum(counts.values())
        rest = ", ".join(f"{n} {name.lower()}" for name, n in counts.items() if name != "IDENTICAL")
        text = f"{stage:>7}: {counts['IDENTICAL']} of {total} identical"
        lines.append(Text(text + (f"; {rest}" if rest else "")))
    for result, judgement in run.judgements():
        if judgement.status in (Status.NEW, Status.CHANGED, Status.BROKEN):
            text = f"{judgement.status.value.upper()} {result.case.id} {judgement.stage}:"
            lines.append(Text(f"{text} {judgement.verdict}: {judgement.reason}", "red"))
    lines = _shortened(lines, 60)
    for problem in run.ledger_problems:
        lines.append(
            Text(f"LEDGER {problem.expectation}: {problem.kind}: {problem.message}", "red")
        )
    for problem_text in run.broken:
        lines.append(Text(f"BROKEN {problem_text}", "red"))
    if run.part is not None and run.part.missing:
        lines.append(Text(f"{run.part}: the ledger's own problems are judged on the whole"))
    found = engine.statuses(run)
    words = ", ".join(f"{found[status]} {status.value}" for status in Status if found[status])
    lines.append(
        Text(f"{len(run.results)} cases in {run.seconds:.1f} s: {words or 'none'}", "bold")
    )
    return lines


def _shortened(lines: list[Text], most: int) -> list[Text]:
    if len(lines) <= most:
        return lines
    gone = len(lines) - most
    return [*lines[:most], Text(f"... {gone} more: see the report or --json", "dim")]


def _table(run: Run) -> Table:
    table = Table(box=None, caption="= identical, ~ equivalent by rules, x different, . none")
    stages = ("outcome", "ttir", "ttgir", "llir", "asm", "binary")
    table.add_column("case", overflow="fold")
    for stage in stages:
        table.add_column(stage)
    table.add_column("judged")
    for result in run.results:
        by_stage = {c.stage: c for c in result.comparisons}
        cells = [Text(result.outcome)]
        for stage in result.case.target.stages:
            comparison = by_stage.get(stage)
            if comparison is None or not result.produced(stage):
                cells.append(Text("."))
            else:
                cells.append(Text(*SYMBOLS[comparison.verdict]))
        status = result.status()
        table.add_row(Text(result.case.id), *cells, Text(status.value, COLOURS[status]))
    return table
