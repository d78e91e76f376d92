"""``tlx-equiv toolchains``: make, show and check the pinned environments."""

from __future__ import annotations

import typer
from rich.console import Console
from rich.table import Table

from harness.cli import options
from harness.cli.doctor import describe
from harness.model import ToolchainIdentity
from harness.toolchains import ensure, identify, proof_problems, verify

app = typer.Typer(
    no_args_is_help=True, help="Make, show and check the pinned environments (fork, plugin, ...)."
)
ROLES = ("fork", "plugin", "upstream")


@app.command()
def sync(toolchain: options.Overrides = None) -> None:
    """Make whatever environment is missing, from PyPI, pinned by hash."""
    chosen = options.parse_overrides(toolchain)
    console = Console(stderr=True)
    for role in ROLES:
        with console.status(f"making {role} ..."):
            made = ensure(role, chosen.get(role))
        console.print(f"{role}: {made.interpreter}", soft_wrap=True)


@app.command("list")
def list_(toolchain: options.Overrides = None, json: options.Json = False) -> None:
    """Show each environment: versions, fingerprint, and what its plugin registers."""
    chosen = options.parse_overrides(toolchain)
    found = {role: identify(ensure(role, chosen.get(role))) for role in ROLES}
    if json:
        options.print_json(found)
        return
    console = Console()
    for role, identity in found.items():
        console.print(_card(role, identity))


@app.command("verify")
def verify_(toolchain: options.Overrides = None, json: options.Json = False) -> None:
    """Check files against their hashes and the plugin against its promise; 2 if any fail."""
    chosen = options.parse_overrides(toolchain)
    problems = {}
    for role in ROLES:
        made = ensure(role, chosen.get(role))
        problems[role] = [*verify(made), *proof_problems(identify(made), made)]
    if json:
        options.print_json(problems)
    else:
        console = Console(soft_wrap=True)
        for role, found in problems.items():
            console.print(f"{role}: {'as pinned' if not found else ''}")
            for problem in found:
                console.print(f"  [red]{problem}[/]")
    if any(problems.values()):
        raise typer.Exit(2)


def _card(role: str, identity: ToolchainIdentity) -> Table:
    table = Table(title=role, title_justify="left", show_header=False, title_style="bold")
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("distributions", ", ".join(identity.distributions))
    table.add_row("triton", identity.triton_version)
    table.add_row("LLVM", identity.llvm_revision or "unknown")
    table.add_row("python", identity.python)
    table.add_row("interpreter", identity.interpreter)
    table.add_row("fingerprint", identity.fingerprint)
    for proof in identity.plugins:
        table.add_row("plugin", describe(proof))
    return table
