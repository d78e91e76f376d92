"""``tlx-equiv selfcheck``: differences are planted, and all of them must be caught."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from harness.cli import options
from harness.compile import default_jobs
from harness.errors import HarnessError
from harness.model import ToolchainIdentity
from harness.selfcheck import Finding, document, misses, rows
from harness.selfcheck.suite import Suite, working_folder
from harness.selfcheck.table import HEAD, cells, total

PARTS = ("artifacts", "pipelines", "toolchains", "evidence", "self")


def selfcheck(
    parts: Annotated[
        list[str] | None,
        typer.Argument(help=f"Which of {', '.join(PARTS)}; all if none.", show_default=False),
    ] = None,
    whole: Annotated[
        bool,
        typer.Option("--self", help="Hold the whole corpus against itself, not a sample of it."),
    ] = False,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=1, help="Compilations at once.")
    ] = default_jobs(),
    out: Annotated[
        Path | None, typer.Option(help="Write the table there, as Markdown.", show_default=False)
    ] = None,
    store: options.StoreDir = None,
    json: options.Json = False,
) -> None:
    """Plant differences in artifacts, pipelines, toolchains and evidence; all must be caught."""
    unknown = [part for part in parts or () if part not in PARTS]
    if unknown:
        raise HarnessError(
            f"part {unknown[0]!r}", "there is no such part", f"use one of {', '.join(PARTS)}"
        )
    found, identities = planted(parts, whole, jobs, store)
    if out is not None:
        save(out, document.write(rows(found), identities))
    missed = misses(found)
    if json:
        options.print_json({"rows": rows(found), "missed": missed})
    else:
        _show(found, missed)
    raise typer.Exit(1 if missed else 0)


def planted(
    parts: Sequence[str] | None, whole: bool, jobs: int, store: Path | None
) -> tuple[list[Finding], dict[str, ToolchainIdentity]]:
    """What became of every planting, and the toolchains that were held against each other."""
    corpus = options.open_corpus(None)
    errors = Console(stderr=True)
    waiting = "another self-check is running; waiting for it"
    with (
        options.opening(options.open_store(store), explaining=False).session(
            options.open_ledger(corpus)
        ) as session,
        working_folder(lambda: errors.print(waiting)) as folder,
    ):
        suite = Suite(corpus, session, folder, jobs)
        cases = corpus.cases if whole else suite.sample()
        chosen: dict[str, Callable[[], Iterator[Finding]]] = {
            "artifacts": suite.artifacts,
            "pipelines": suite.pipelines,
            "toolchains": suite.toolchains,
            "evidence": suite.evidence,
            "self": lambda: suite.twins(cases),
        }
        found: list[Finding] = []
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        with Progress(*columns, console=errors) as progress:
            for name, part in chosen.items():
                if parts and name not in parts:
                    continue
                task = progress.add_task(name)
                for finding in part():
                    found.append(finding)
                    progress.update(task, description=f"{name}: {finding.kind}"[:60])
                progress.update(task, description=name, total=1, completed=1)
        return found, session.identities


def save(path: Path, text: str) -> None:
    """Write the table; raises HarnessError where that fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    except OSError as error:
        raise HarnessError(
            str(path), f"cannot be written: {error.strerror or error}", "give another --out"
        ) from error


def _show(found: list[Finding], missed: list[Finding]) -> None:
    console = Console(width=None if Console().is_terminal else 120)
    table = Table(box=None)
    for name in ("in", *HEAD):
        table.add_column(
            name, overflow="fold", justify="left" if name in ("in", "kind") else "right"
        )
    every = rows(found)
    for row in every:
        right = row.planted == row.caught == row.located and not row.flagged
        table.add_row(row.group, *cells(row), style="" if right else "bold red")
    table.add_row("all", *cells(total(every, "")), style="bold")
    console.print(table)
    for finding in missed[:20]:
        how = "not caught" if not finding.caught else "not located"
        how = "wrongly flagged" if finding.flagged else how
        text = f"{how}: {finding.group}, {finding.kind}, {finding.subject}: {finding.what}"
        console.print(Text(text, "red"), Text(f"  {finding.answer}"), soft_wrap=True)
    console.print(f"{len(found)} planted, {len(missed)} not as they must be")
