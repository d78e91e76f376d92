"""``tlx-equiv bisect``: the published version at which a case's verdict changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.bisect import Change
from harness.cli import options
from harness.errors import HarnessError
from harness.hunt import hunt
from harness.toolchains import declared
from harness.toolchains.published import published, subject


def bisect(
    case: Annotated[str, typer.Argument(metavar="CASE", help="A case's id, or a glob for one.")],
    over: Annotated[str, typer.Option(help="Whose versions: plugin, fork or upstream.")],
    first: Annotated[str | None, typer.Option("--from", help="The oldest to consider.")] = None,
    last: Annotated[str | None, typer.Option("--to", help="The newest to consider.")] = None,
    corpus: options.CorpusDirs = None,
    toolchain: options.Overrides = None,
    lane: options.Lane = "controlled",
    store: options.StoreDir = None,
    json: options.Json = False,
) -> None:
    """Find the published version of one side at which a case's verdict changed.

    The verdict is the outcome, the verdict of each stage and what differs there. Versions that
    do not load are skipped. Exit status 1 if the oldest and the newest agree.
    """
    found = options.open_corpus(corpus)
    chosen = found.select([case])
    if len(chosen) != 1:
        cause = f"matches {len(chosen)} cases, such as {chosen[0].id} and {chosen[1].id}"
        raise HarnessError(f"case {case}", cause, "name one of them in full")
    role = declared().role(over)
    sides = options.SIDES if over in options.SIDES.split(":") else f"fork:{over}"
    opening = options.opening(
        options.open_store(store), lane, toolchain, explaining=False, sides=sides
    )
    versions = _between(published(subject(role)), first, last)
    with Console(stderr=True).status("...") as status:
        change = hunt(
            chosen[0],
            role,
            versions,
            opening,
            lambda words: status.update(f"{words} ..."),
        )
    if json:
        options.print_json(change)
    else:
        _tell(change)
    if not change.after:
        raise typer.Exit(1)


def _between(versions: Sequence[str], first: str | None, last: str | None) -> list[str]:
    for given in (first, last):
        if given is not None and given not in versions:
            raise HarnessError(
                f"version {given}",
                "is not published for this machine",
                f"one of {', '.join(versions)}",
            )
    start = versions.index(first) if first else 0
    end = versions.index(last) + 1 if last else len(versions)
    if start >= end:
        raise HarnessError(f"--from {first} --to {last}", "the wrong way round", "swap them")
    return list(versions[start:end])


def _tell(change: Change) -> None:
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"{change.case} over {len(change.versions)} versions of {change.over}:")
    for step in change.tried:
        if step.problem:
            console.print(Text(f"  {step.version}: skipped: {step.problem}", "dim"))
        else:
            verdicts = ", ".join(f"{s} {text.partition(' ')[0]}" for s, text in step.shown.items())
            console.print(Text(f"  {step.version}: {verdicts}"))
    if not change.after:
        judged = [step.version for step in change.tried if step.shown]
        console.print(Text(f"no change between {judged[0]} and {judged[-1]}", "bold"))
        return
    console.print(_both_sides(change))
    line = f"changed in {change.over} {change.after}, last as before in {change.before}"
    if change.skipped:
        line += f"; between them, not usable: {', '.join(change.skipped)}"
    console.print(Text(line, "bold"))


def _both_sides(change: Change) -> Table:
    """What the case showed on either side of the boundary, stage by stage; changes stand out."""
    left, right = (change.step(version).shown for version in (change.before, change.after))
    table = Table(box=None)
    for name in ("", change.before, change.after):
        table.add_column(name, overflow="fold")
    for stage in dict.fromkeys([*left, *right]):
        pair = left.get(stage, "-"), right.get(stage, "-")
        table.add_row(stage, *pair, style="yellow" if pair[0] != pair[1] else "dim")
    return table
