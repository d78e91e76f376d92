"""``tlx-equiv cases`` and ``tlx-equiv new-kernel``: what would run, and a template for more."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from harness import lint as weak
from harness.cli import options
from harness.errors import HarnessError
from harness.template import write_template


def cases(
    patterns: options.Patterns = None,
    corpus: options.CorpusDirs = None,
    target: options.Targets = None,
    json: options.Json = False,
) -> None:
    """List the cases that would run, and the kernel folders that cannot be used."""
    found = options.open_corpus(corpus)
    chosen = found.select(patterns or (), target or ())
    if json:
        options.print_json(
            {
                "cases": [
                    {"id": c.id, "function": c.function, "options": c.options, "expect": c.expect}
                    for c in chosen
                ],
                "problems": [str(problem) for problem in found.problems],
            }
        )
    else:
        table = Table(box=None)
        table.add_column("case", overflow="fold")
        table.add_column("function", overflow="fold")
        table.add_column("options", overflow="fold")
        for case in chosen:
            text = " ".join(f"{key}={value}" for key, value in case.options.items())
            table.add_row(case.id, case.function, text)
        console = Console()
        console.print(table)
        console.print(f"{len(chosen)} cases of {len({c.kernel for c in chosen})} kernels")
    for problem in found.problems:
        Console(stderr=True, soft_wrap=True).print(f"[red]not usable:[/] {problem}")
    if found.problems:
        raise typer.Exit(2)


def new_kernel(
    name: Annotated[str, typer.Argument(help="Folder name of the new kernel, e.g. my_gemm.")],
    corpus: Annotated[
        Path, typer.Option("--corpus", help="The corpus folder to write it into.")
    ] = Path(),
) -> None:
    """Write a kernel folder that runs at once: kernel.py, case.py and a check file."""
    if not name.replace("/", "_").replace("-", "_").isidentifier():
        raise HarnessError(
            f"kernel name {name!r}",
            "not usable as a folder name",
            "use letters, digits and underscores, with / for a family",
        )
    folder = write_template(corpus, name)
    print(f"wrote {folder}/kernel.py, case.py and ttgir.check; run it with")
    print(f"  tlx-equiv run --corpus {corpus} '{name}'")


def lint(corpus: options.CorpusDirs = None, json: options.Json = False) -> None:
    """Find weak cases: no check, no reference, unargued bounds, too few steps, autotuning."""
    found = weak.lint(options.open_corpus(corpus))
    if json:
        options.print_json(found)
    else:
        table = Table(box=None)
        for name in ("kernel", "kind", "what"):
            table.add_column(name, overflow="fold")
        for weakness in found:
            table.add_row(weakness.kernel, weakness.kind, weakness.message)
        if found:
            Console().print(table)
        print(f"{len(found)} weak points")
    if found:
        raise typer.Exit(1)
