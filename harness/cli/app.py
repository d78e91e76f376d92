"""The ``tlx-equiv`` application: commands, and how errors and exit statuses reach the user."""

from __future__ import annotations

import json
import sys

import typer
from rich.console import Console

from harness.cli import (
    bisect,
    cases,
    coverage,
    doctor,
    explain,
    inspect,
    ledger,
    matrix,
    merge,
    neutrality,
    nightly,
    parity,
    pin,
    prune,
    runs,
    selfcheck,
    toolchains,
)
from harness.errors import HarnessError

app = typer.Typer(
    name="tlx-equiv",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    help=(
        "Check that TLX kernels compile to identical code through Meta's Triton fork and"
        " through upstream Triton with the TLX plugin, and explain where they do not.\n\n"
        "Exit status: 0 all as expected, 1 an unexpected difference, 2 usage or environment."
    ),
)
app.add_typer(toolchains.app, name="toolchains")
for command in (
    runs.run,
    cases.cases,
    inspect.show,
    inspect.diff,
    explain.explain,
    explain.repro,
    ledger.expect,
    coverage.coverage,
    parity.bundle,
    parity.parity,
    merge.merge,
    runs.report,
    doctor.doctor,
    neutrality.neutrality,
    nightly.nightly,
    pin.pin,
    prune.prune,
    matrix.matrix,
    bisect.bisect,
    cases.new_kernel,
    cases.lint,
    selfcheck.selfcheck,
):
    app.command()(command)


def main() -> None:
    """Entry point: a HarnessError becomes one message on stderr and exit status 2."""
    try:
        app()
    except HarnessError as error:
        if "--json" in sys.argv:
            fields = {"thing": error.thing, "cause": error.cause, "way_out": error.way_out}
            print(json.dumps({"error": fields}))
        console = Console(stderr=True, soft_wrap=True)
        console.print(f"[bold red]error:[/] {_plain(error.thing)}: {_plain(error.cause)}")
        console.print(f"  [bold]way out:[/] {_plain(error.way_out)}")
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        print("interrupted; what was compiled is kept in the store", file=sys.stderr)
        raise SystemExit(130) from None


def _plain(text: str) -> str:
    return text.replace("[", "\\[")
