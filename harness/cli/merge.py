"""``tlx-equiv merge``: results of several machines become one run, judged by the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from harness import judge
from harness import run as runs
from harness.cli import options
from harness.cli.runs import summary
from harness.errors import HarnessError
from harness.history import History
from harness.merge import merge as merge_runs
from harness.parity.merge import merge as merge_report
from harness.parity.result import load_report
from harness.result import Run
from harness.store import Store


def merge(
    parts: Annotated[
        list[Path],
        typer.Argument(
            help="Folders of runs (or their run.json), such as shards; what"
            " `tlx-equiv parity` wrote; and history files (.sqlite)."
        ),
    ],
    run: Annotated[
        Path,
        typer.Option(
            "--run", help="Where the merged run goes; a GPU's results alone join the run there."
        ),
    ] = options.OUT,
    corpus: options.CorpusDirs = None,
    history: options.HistoryFile = None,
    store: options.StoreDir = None,
    json: options.Json = False,
) -> None:
    """Join shards of a run, with the artifacts that they carry, GPUs' results, and histories.

    In any order, and again without harm. Exit status as for `run`; 2 if a shard is missing.
    """
    console = Console(stderr=json, soft_wrap=True)
    histories = [part for part in parts if part.suffix == ".sqlite"]
    if histories:
        _join(histories, options.history_file(history), console)
        parts = [part for part in parts if part not in histories]
        if not parts:
            return
    found = options.open_corpus(corpus)
    ledger = options.open_ledger(found)
    folders = [part for part in parts if _is_run(part)]
    if folders:
        named = {str(path): runs.load(path) for path in folders}
        merged = merge_runs(named, found, ledger)
        _gather(named, options.open_store(store), console)
    else:
        merged = runs.load(run)
    runnable = [case.id for case in found.cases if case.runnable]
    refused: Counter[str] = Counter()
    for path in parts:
        if not _is_run(path):
            merged, reasons = merge_report(merged, load_report(path), ledger, runnable)
            refused.update(reasons.values())
    path = runs.save(merged, run.parent if run.name == runs.FILE else run)
    if json:
        options.print_json(merged)
    else:
        for line in summary(merged):
            console.print(line)
    for why, count in refused.most_common():
        console.print(f"{count} GPU results not joined: {why}", markup=False)
    measured = sum(result.parity is not None for result in merged.results)
    console.print(f"run: {path}; {measured} of {len(merged.results)} cases measured on a GPU")
    raise typer.Exit(judge.exit_status(merged))


def _is_run(path: Path) -> bool:
    return path.is_dir() or path.name == runs.FILE


def _join(paths: Sequence[Path], target: Path, console: Console) -> None:
    """Take the nights of other histories into this one."""
    with History(target) as history:
        for path in paths:
            if not path.is_file():
                raise HarnessError(f"history {path}", "no such file", "name one that exists")
            with History(path) as other:
                console.print(f"history: {history.merge(other)} nights of {path} are new here")


def _gather(named: dict[str, Run], store: Store, console: Console) -> None:
    """Take over the artifacts that runs of other machines carry."""
    missing = 0
    for name, run in named.items():
        carried = (Path(name) if Path(name).is_dir() else Path(name).parent) / runs.ARTIFACTS
        missing += runs.carry(run, Store(carried) if carried.is_dir() else store, store)
    if missing:
        console.print(
            f"{missing} artifacts are neither with their runs (--with-artifacts) nor in"
            f" {store.root}: reports go without them"
        )
