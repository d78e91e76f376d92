"""``tlx-equiv doctor``: whether the sides would load their plugins, in seconds, with ways out."""

from __future__ import annotations

import typer
from rich.console import Console
from rich.text import Text

from harness.cli import options
from harness.model import PluginProof
from harness.toolchains import (
    Finding,
    Toolchain,
    identify,
    inherited,
    preflight,
    proof_findings,
)


def doctor(
    toolchain: options.Overrides = None,
    sides: options.Sides = options.SIDES,
    plugin: options.Plugins = None,
    json: options.Json = False,
) -> None:
    """Check how both sides load their plugins; exit status 2 if a run would be void or worse."""
    kept = options.open_store(None)
    pair = options.opening(kept, "controlled", toolchain, sides=sides, plugins=plugin).sides()
    examined = {each.role: _examine(each) for each in pair}
    notes = inherited()
    if json:
        options.print_json(
            {
                "notes": notes,
                "sides": {
                    role: {"findings": findings, "plugins": proofs}
                    for role, (findings, proofs) in examined.items()
                },
            }
        )
    else:
        console = Console(soft_wrap=True, highlight=False)
        for note in notes:
            console.print(Text(f"note: {note.thing}: {note.cause}; {note.way_out}", "dim"))
        for role, (findings, proofs) in examined.items():
            _print(console, role, findings, proofs)
    if any(finding.problem for findings, _ in examined.values() for finding in findings):
        raise typer.Exit(2)


def _examine(toolchain: Toolchain) -> tuple[list[Finding], tuple[PluginProof, ...]]:
    """What is wrong with a toolchain; its plugins are only loaded if nothing speaks against it."""
    found = preflight(toolchain)
    if any(finding.problem for finding in found):
        return found, ()
    identity = identify(toolchain)
    return [*found, *proof_findings(identity, toolchain)], identity.plugins


def _print(
    console: Console, role: str, findings: list[Finding], proofs: tuple[PluginProof, ...]
) -> None:
    bad = [finding for finding in findings if finding.problem]
    words = f"{len(bad)} problem{'s' if len(bad) != 1 else ''}" if bad else "as it should be"
    console.print(Text.assemble((role, "bold"), ": ", (words, "red" if bad else "green")))
    for proof in proofs:
        console.print(Text(f"  {proof.plugin or 'undeclared'}: {describe(proof)}"))
    for finding in findings:
        style = "red" if finding.problem else "dim"
        console.print(Text(f"  {finding.check}: {finding.thing}: {finding.cause}", style))
        console.print(Text(f"    way out: {finding.way_out}"))


def describe(proof: PluginProof) -> str:
    """What was proven of a plugin, in a line."""
    parts = []
    if proof.library:
        parts.append(
            f"{proof.name} {proof.version}, API {proof.api_version}, for Triton"
            f" {proof.built_for_triton}: {len(proof.passes)} passes, {len(proof.ops)} ops,"
            f" {len(proof.dialects)} dialects, {len(proof.missing)} promised ones missing;"
            f" mapped before import: {proof.mapped_before_import}, after:"
            f" {proof.mapped_after_import}, by {proof.way or 'nothing'}"
        )
    if proof.ops_without_result:
        parts.append(f"{len(proof.ops_without_result)} ops return nothing to Python")
    if proof.hook:
        joined = "has joined" if proof.hook_joined else "has not joined"
        parts.append(f"stage hook {proof.hook.rpartition('/')[2]} {joined} Triton's")
    return "; ".join(parts)
