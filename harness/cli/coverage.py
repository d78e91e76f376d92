"""``tlx-equiv coverage``: the public TLX names, where they exist, and what exercises them."""

from __future__ import annotations

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness import run as runs
from harness.cli import options


def coverage(
    run: options.RunDir = options.OUT,
    missing: bool = typer.Option(False, "--missing", help="Only names that no case exercises."),
    json: options.Json = False,
) -> None:
    """Show each public TLX name: which side has it, how it is called, which cases use it."""
    record = runs.load(run)
    shown = [entry for entry in record.coverage if not missing or not entry.targets]
    if json:
        options.print_json(shown)
        return
    roles = record.reference, record.candidate
    console = Console()
    table = Table(box=None)
    table.add_column("name", overflow="fold")
    table.add_column("on")
    table.add_column("cases", justify="right")
    table.add_column("targets", overflow="fold")
    table.add_column("signature, or how it differs", overflow="fold")
    for entry in shown:
        on = "both" if len(entry.signatures) == 2 else f"{next(iter(entry.signatures))} only"
        texts = list(dict.fromkeys(entry.signatures.values()))
        if len(texts) == 2:
            text = "\n".join(f"{role}: {entry.signatures[role]}" for role in roles)
        else:
            text = texts[0]
        for role, words in entry.failures.items():
            text += f"\n{role} compiles no case: {words}"
        table.add_row(
            entry.name,
            on,
            str(len(entry.cases)),
            " ".join(entry.targets) or "none",
            Text(text, "yellow" if len(texts) == 2 or entry.failures else ""),
        )
    console.print(table)
    both = [entry for entry in record.coverage if len(entry.signatures) == 2]
    exercised = [entry for entry in both if entry.targets]
    same = [entry for entry in both if len(set(entry.signatures.values())) == 1]
    console.print(
        f"{len(exercised)} of {len(both)} names that both sides have are exercised;"
        f" {len(same)} have the same signature"
    )
    for role in roles:
        only = [entry.name for entry in record.coverage if set(entry.signatures) == {role}]
        console.print(f"{len(only)} only on {role}: {', '.join(only)}")
