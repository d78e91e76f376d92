"""``tlx-equiv show`` and ``tlx-equiv diff``: one case of a run, in the terminal."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.cli import options
from harness.errors import HarnessError
from harness.result import CaseResult, Run, reproduce

CaseId = Annotated[str, typer.Argument(help="Case id, or a glob that matches one case.")]


def show(case: CaseId, run: options.RunDir = options.OUT, json: options.Json = False) -> None:
    """Show one case: outcome, verdict at each stage, diagnostics, how to reproduce it."""
    record, result = options.find_result(run, case)
    if json:
        options.print_json(result)
        return
    console = Console(soft_wrap=True)
    console.print(f"[bold]{result.case.id}[/]  outcome: {result.outcome}")
    table = Table(box=None)
    for column in ("stage", "verdict", "judged", "why"):
        table.add_column(column, overflow="fold")
    for judgement in result.judgements:
        why = f"{judgement.expectation}: {judgement.reason}".strip(": ")
        table.add_row(judgement.stage, judgement.verdict, judgement.status.value, Text(why))
    console.print(table)
    for role, compilation in result.compilations.items():
        for proof in record.toolchains[role].plugins:
            ran = proof.ran(compilation)
            times = (name if n == 1 else f"{name} x {n}" for name, n in ran.items())
            words = ", ".join(times) or "none in the trace"
            console.print(Text(f"{role}: passes of {proof.plugin or proof.library}: {words}"))
        failure = compilation.failure
        if failure is None:
            text = f"{len(compilation.trace)} passes, {compilation.seconds:.2f} s"
            console.print(Text(f"{role}: compiled, {text}"))
            if compilation.printed_errors:
                console.print(Text(f"  printed all the same: {compilation.printed_errors}"))
            continue
        where = failure.phase + (f", pass {failure.pass_name}" if failure.pass_name else "")
        how = failure.signal or failure.exception or f"exit status {failure.exit_status}"
        console.print(Text(f"{role}: {compilation.outcome.value} in {where} ({how})"))
        for line in failure.message.splitlines()[:12]:
            console.print(Text(f"  {line}"))
    for check in result.checks:
        if not check.passed:
            console.print(Text(f"{check.role}: {check.file} does not hold:\n{check.message}"))
    for comparison in result.comparisons:
        if comparison.hunks_total:
            console.print(
                Text(f"{comparison.stage}: {comparison.hunks_total} differences;"),
                Text(f"see `tlx-equiv diff '{result.case.id}' --stage {comparison.stage}`"),
            )
    console.print(Text(f"reproduce: {reproduce(result.case, record.options)}"))


def diff(
    case: CaseId,
    stage: Annotated[
        str, typer.Option(help="ttir, ttgir, llir, ptx, cubin, sass, amdgcn, hsaco, metadata.")
    ],
    run: options.RunDir = options.OUT,
    store: options.StoreDir = None,
    limit: Annotated[int, typer.Option(help="Show at most this many differences.")] = 20,
    raw: Annotated[bool, typer.Option("--raw", help="Print both artifacts' paths only.")] = False,
    json: options.Json = False,
) -> None:
    """Show what differs at a stage, after all rules, the two compilers named."""
    record, result = options.find_result(run, case)
    comparison = next((c for c in result.comparisons if c.stage == stage), None)
    if comparison is None:
        known = [c.stage for c in result.comparisons]
        raise HarnessError(
            f"stage {stage!r} of {result.case.id}",
            "not compared in that run",
            f"use one of {known}",
        )
    if json:
        options.print_json(comparison)
        return
    console = Console(soft_wrap=True, highlight=False)
    left, right = _names(record)
    console.print(f"[bold]{result.case.id}[/] {stage}: {comparison.verdict.value}")
    if comparison.rules:
        console.print(f"equal after the rules {', '.join(comparison.rules)}")
    if comparison.note:
        console.print(Text(comparison.note))
    if raw:
        _export(result, stage, options.open_store(store), console)
        return
    console.print(Text(f"--- {left}", "red"), Text(f"\n+++ {right}", "green"))
    for hunk in comparison.hunks[:limit]:
        console.print(Text(f"@@ {hunk.region} @@ {hunk.kind}".rstrip(), "cyan"))
        for line in hunk.context:
            console.print(Text(f"  {line}", "dim"))
        for line in hunk.left:
            console.print(Text(f"- {line}", "red"))
        for line in hunk.right:
            console.print(Text(f"+ {line}", "green"))
    missing = comparison.hunks_total - min(limit, len(comparison.hunks))
    if missing > 0:
        console.print(f"... {missing} more; --limit N shows more, --raw gives the whole files")


def _export(result: CaseResult, stage: str, store: object, console: Console) -> None:
    from harness.store import Store

    assert isinstance(store, Store)
    name = "cubin" if stage == "sass" else stage
    folder = options.OUT.parent / "artifacts" / result.case.id.replace("/", ".")
    folder.mkdir(parents=True, exist_ok=True)
    for role, compilation in result.compilations.items():
        data = store.read(compilation.artifacts.get(name))
        if data is not None:
            path = folder / f"{role}.{name}"
            path.write_bytes(data)
            console.print(f"{role}: {path}")


def _names(run: Run) -> tuple[str, str]:
    named = [
        f"{role} ({', '.join(run.toolchains[role].distributions)})"
        for role in (run.reference, run.candidate)
    ]
    return named[0], named[1]
