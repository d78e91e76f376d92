"""``tlx-equiv coverage``: the public TLX names, where they exist, and what exercises them."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness import run as runs
from harness.cli import options
from harness.result import USE_STATES, NameCoverage

SIGNS = dict(zip(USE_STATES, ("+", "/", "x", "?"), strict=True))


def coverage(
    run: options.RunDir = options.OUT,
    missing: bool = typer.Option(
        False, "--missing", help="Only names of both sides that a target has not tried."
    ),
    json: options.Json = False,
) -> None:
    """Show each public TLX name: which side has it, how it is called, where cases use it."""
    record = runs.load(run)
    targets = record.covered_targets
    both = [entry for entry in record.coverage if len(entry.signatures) == 2]
    shown: Sequence[NameCoverage] = record.coverage
    if missing:
        shown = [e for e in both if any(e.state(target) == "untried" for target in targets)]
    if json:
        options.print_json(shown)
        return
    console = Console(emoji=False, markup=False, width=None if sys.stdout.isatty() else 140)
    table = Table(box=None)
    table.add_column("name", overflow="fold")
    table.add_column("on")
    for target in targets:
        table.add_column(target.partition(":")[2], justify="center")
    table.add_column("cases", justify="right")
    table.add_column("signature, or how it differs", overflow="fold")
    roles = record.reference, record.candidate
    for entry in shown:
        on = "both" if len(entry.signatures) == 2 else f"{next(iter(entry.signatures))} only"
        texts = list(dict.fromkeys(entry.signatures.values()))
        if len(texts) == 2:
            text = "\n".join(f"{role}: {entry.signatures[role]}" for role in roles)
        else:
            text = texts[0]
        for role, words, where in entry.refusals:
            text += f"\n{role} on {', '.join(where)}: {words}"
        table.add_row(
            entry.name,
            on,
            *(SIGNS[entry.state(target)] for target in targets),
            str(len(entry.cases)),
            Text(text, "yellow" if len(texts) == 2 else ""),
        )
    console.print(table)
    console.print("  ".join(f"{SIGNS[state]} {words}" for state, words in USE_STATES.items()))
    exercised = [entry for entry in both if entry.targets]
    same = [entry for entry in both if len(set(entry.signatures.values())) == 1]
    console.print(
        f"{len(exercised)} of {len(both)} names that both sides have are exercised;"
        f" {len(same)} have the same signature"
    )
    for target in targets:
        count = Counter(entry.state(target) for entry in both)
        console.print(f"{target}: " + ", ".join(f"{count[state]} {state}" for state in USE_STATES))
    for role in roles:
        only = [entry.name for entry in record.coverage if set(entry.signatures) == {role}]
        console.print(f"{len(only)} only on {role}: {', '.join(only)}")
