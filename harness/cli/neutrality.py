"""``tlx-equiv neutrality``: whether plugins that are loaded and not used change anything."""

from __future__ import annotations

import functools
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress, TaskID
from rich.table import Table
from rich.text import Text

from harness import neutrality as engine
from harness.cli import options
from harness.compile import default_jobs
from harness.errors import HarnessError
from harness.model import Case
from harness.neutrality import Neutrality
from harness.result import CaseResult
from harness.toolchains import declared, ensure

BASE = "upstream"
ALL = ("null", "triton-test-passes", "triton-test-dialect", "idle", "utlx")


def neutrality(
    plugin: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME|FILE]...",
            help="Plugins, as for `run --plugin`; several at once joined by +."
            f" [default: {' '.join(ALL)}]",
        ),
    ] = None,
    corpus: options.CorpusDirs = None,
    target: options.Targets = None,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=1, help="Compilations at once.")
    ] = default_jobs(),
    lane: options.Lane = "controlled",
    toolchain: options.Overrides = None,
    store: options.StoreDir = None,
    json: options.Json = False,
) -> None:
    """Load plugins without using them: no byte of plain kernels' artifacts may change.

    Exit status 0 if none does, 1 if one does, 2 if something could not be measured.
    """
    found = options.open_corpus(corpus)
    cases = [case for case in found.select((), target or ()) if case.baseline]
    if not cases:
        raise HarnessError(
            "plain kernels", "the corpus has none for these targets", "see `tlx-equiv cases`"
        )
    measured = []
    with Progress(console=Console(stderr=True)) as progress:
        for given in plugin or ALL:
            task = progress.add_task(given, total=len(cases))
            role, added, overrides = _candidate(given, toolchain)
            opening = options.opening(
                options.open_store(store),
                lane,
                overrides,
                explaining=False,
                sides=f"{BASE}:{role}",
                plugins=added,
            )
            with opening.session(options.open_ledger(found)) as session:
                done = functools.partial(_advance, progress, task)
                measured.append(engine.measure(session, given.split("+"), cases, jobs, done))
    if json:
        options.print_json(measured)
    else:
        _print(measured)
    if not all(each.sound for each in measured):
        raise typer.Exit(2)
    if not all(each.neutral for each in measured):
        raise typer.Exit(1)


def _advance(
    progress: Progress, task: TaskID, case: Case, result: CaseResult | HarnessError
) -> None:
    progress.advance(task)


def _candidate(given: str, overrides: list[str] | None) -> tuple[str, list[str], list[str]]:
    """The role to compare with the baseline, the plugins to lay over it, and the overrides.

    A plugin that a role has by its pins is measured in that role, but over the baseline's own
    Triton: line information names the files of Triton's library, wherever they lie.
    """
    names, chosen = given.split("+"), options.parse_overrides(overrides)
    for role in declared().roles.values():
        own = [descriptor.name for descriptor in role.plugins]
        if not set(own).isdisjoint(names):
            triton = str(ensure(BASE, chosen.get(BASE)).package.parent)
            parts = [chosen[role.name], triton] if role.name in chosen else [triton]
            chosen[role.name] = ",".join(parts)
            added = [name for name in names if name not in own]
            return role.name, added, [f"{name}={where}" for name, where in chosen.items()]
    return BASE, names, list(overrides or ())


def _print(measured: list[Neutrality]) -> None:
    console = Console(soft_wrap=True, highlight=False)
    table = Table(box=None)
    for column in ("plugin", "target", "kernels", "artifacts", "changed"):
        table.add_column(column, overflow="fold")
    for each in measured:
        for on in each.targets:
            artifacts = sum(on.equal.values()) + sum(map(len, on.changed.values()))
            text = ", ".join(
                f"{name} of {len(ids)}{' (equal after rules)' if name in on.rules else ''}"
                for name, ids in on.changed.items()
            )
            table.add_row(
                "+".join(each.plugins),
                on.target,
                str(on.cases),
                str(artifacts),
                Text(text or "none", "yellow" if text else "green"),
            )
    console.print(table)
    for each in measured:
        name = "+".join(each.plugins)
        if each.void:
            console.print(Text(f"{name}: VOID, nothing was measured: {each.void}", "red"))
        for problem in each.broken:
            console.print(Text(f"{name}: BROKEN {problem}", "red"))
    neutral = sum(each.neutral for each in measured)
    console.print(f"{neutral} of {len(measured)} change nothing")
