"""``tlx-equiv explain``: where a difference is born, whose it is, what it is, what it costs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness import repro as reproducer
from harness.cli import options
from harness.cli.inspect import CaseId
from harness.errors import HarnessError
from harness.explanation import AlignedPass, Explanation
from harness.model import Verdict
from harness.result import CaseResult, Run, reproduce
from harness.toolchains import declared

EVENTS = {"born": "red", "grows": "yellow", "shrinks": "cyan", "vanishes": "green"}
BAR = 24


def explain(
    case: CaseId,
    run: options.RunDir = options.OUT,
    every: bool = typer.Option(False, "--all", help="Show every pass, not only where it matters."),
    json: options.Json = False,
) -> None:
    """Explain a case that differs: the passes, the attribution, the differences, the cost."""
    record, result = options.find_result(run, case)
    found = result.explanation
    if json:
        options.print_json(found)
        return
    console = Console(highlight=False)
    console.print(Text(result.case.id, "bold"))
    if found is None:
        equal = all(
            c.verdict in (Verdict.IDENTICAL, Verdict.EQUIVALENT) for c in result.comparisons
        )
        if equal or result.outcome.startswith("BOTH"):
            console.print(f"nothing to explain: outcome {result.outcome}, equal at every stage")
            return
        raise HarnessError(
            f"case {result.case.id}",
            "the run was made without explanations",
            f"run it again: {reproduce(result.case, record.options)}",
        )
    _where(console, record, found, every)
    _whose(console, record, found)
    _what(console, record, result, found)
    _how_much(console, record, found)
    for gap in found.gaps:
        console.print(Text(f"not done: {gap}", "dim"))


def repro(
    case: CaseId,
    out: Annotated[Path, typer.Option(help="A new folder.")],
    run: options.RunDir = options.OUT,
) -> None:
    """Write a self-contained reproducer: kernel, pins, a script per side, one that shows it."""
    record, result = options.find_result(run, case)
    roles = (record.reference, record.candidate)
    if any("+" in role for role in roles):
        raise HarnessError(
            f"case {case}",
            f"compiled by {' and '.join(roles)}: a reproducer holds no plugins of your own",
            "give its reader the plugin's files and the run's command: " + record.command,
        )
    pins = {role: declared().role(role).pins for role in roles}
    folder = reproducer.write(record, result, out, pins)
    print(f"wrote {folder}; run it with: sh {folder}/show.sh")


def _where(console: Console, run: Run, found: Explanation, every: bool) -> None:
    console.print("\n[bold]Where[/]")
    if found.failing_pass:
        console.print(Text(f"fails in {found.failing_pass}"))
    for birth in found.births:
        kinds = "; ".join(birth.kinds) or "no kind known"
        console.print(Text(f"{birth.event} in {birth.pass_name} ({birth.manager}): {kinds}"))
        for sign, text, colour in (
            ("-", birth.example_left, "red"),
            ("+", birth.example_right, "green"),
        ):
            for line in text.splitlines():
                console.print(Text(f"  {sign} {line}", colour), soft_wrap=True)
    most = max((row.difference or 0 for row in found.rows), default=0)
    table = Table(box=None)
    for name in ("pass", "only", "lines that differ", "", "behaviour"):
        table.add_column(name, overflow="fold")
    shown = [row for row in found.rows if every or _matters(row)]
    for row in shown:
        only = {(True, False): run.reference, (False, True): run.candidate}.get(
            (row.left is not None, row.right is not None), ""
        )
        size = "?" if row.difference is None else str(row.difference)
        bar = "#" * round(BAR * (row.difference or 0) / most) if most else ""
        table.add_row(
            Text(row.name),
            Text(only + (" (plugin)" if row.plugin else ""), "magenta"),
            Text(f"{size:>6} {bar}"),
            Text(row.event, EVENTS.get(row.event, "")),
            Text(row.behaviour, "bold red" if row.behaviour == "differs" else "dim"),
        )
    console.print(table)
    if len(shown) < len(found.rows):
        console.print(f"{len(found.rows) - len(shown)} quiet passes not shown; --all shows them")


def _matters(row: AlignedPass) -> bool:
    return bool(row.event) or row.behaviour == "differs" or row.manager == "front end"


def _whose(console: Console, run: Run, found: Explanation) -> None:
    console.print(f"\n[bold]Whose[/]: {', '.join(found.attributions)}")
    for sentence in found.evidence:
        console.print(Text(f"- {sentence}"))
    if found.matrix:
        table = Table(box=None, title="TTGIR of ... through the back end of ...", title_style="dim")
        for name in ("TTGIR of", "back end of", "assembly", "which is that of", "void because"):
            table.add_column(name, overflow="fold")
        for cell in found.matrix:
            code = list(cell.artifacts.values())[-1][:12] if cell.artifacts else "none"
            table.add_row(
                cell.front,
                cell.back,
                cell.note or code,
                ", ".join(cell.equals) or "neither",
                cell.void,
            )
        console.print(table)
    done = [row.behaviour for row in found.rows if row.left is not None and row.right is not None]
    same = done.count("same")
    grafted = same + done.count("differs")
    console.print(f"{same} of {grafted} passes that both sides run behave identically here")


def _what(console: Console, run: Run, result: CaseResult, found: Explanation) -> None:
    console.print("\n[bold]What[/]")
    for comparison in result.comparisons:
        kinds: dict[str, int] = {}
        for hunk in comparison.hunks:
            text = f"{hunk.kind or 'no kind known'} [{hunk.significance}]"
            kinds[text] = kinds.get(text, 0) + 1
        if kinds:
            named = ", ".join(f"{n} x {kind}" for kind, n in list(kinds.items())[:6])
            total = f"{comparison.hunks_total} differences"
            console.print(Text(f"{comparison.stage}: {total}: {named}"))
    differing = [count for count in found.counts if count.left != count.right]
    if differing:
        table = Table(box=None, title="counts that differ", title_style="dim")
        for name in ("stage", "table", "name"):
            table.add_column(name, overflow="fold")
        table.add_column(run.reference, justify="right")
        table.add_column(run.candidate, justify="right")
        for count in differing[:30]:
            table.add_row(
                count.stage, count.table, Text(count.name), str(count.left), str(count.right)
            )
        console.print(table)
        if len(differing) > 30:
            console.print(f"... {len(differing) - 30} more counts; --json has them all")


def _how_much(console: Console, run: Run, found: Explanation) -> None:
    if not found.resources:
        return
    console.print("\n[bold]How much[/]")
    table = Table(box=None)
    table.add_column("")
    for role in found.resources:
        table.add_column(role, justify="right")
    rows = {
        "registers per thread": "registers",
        "spill stores (bytes)": "spill_stores",
        "spill loads (bytes)": "spill_loads",
        "stack (bytes per thread)": "stack",
        "shared memory (bytes per CTA)": "shared",
        "threads per CTA": "threads",
        "instructions": "instructions",
    }
    for label, name in rows.items():
        values = [getattr(each, name) for each in found.resources.values()]
        table.add_row(label, *("unknown" if value is None else f"{value:,}" for value in values))
    occupancies = [
        "unknown" if each.occupancy is None else f"{each.occupancy:.0%} ({each.limiter})"
        for each in found.resources.values()
    ]
    table.add_row("theoretical occupancy", *occupancies)
    console.print(table)
