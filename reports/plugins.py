"""Plugins as the pages show them: what was proven of each, and which of its passes ran."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence

from harness.model import PluginProof
from harness.result import CaseResult, Run
from reports.cases import CaseView


@dataclasses.dataclass(frozen=True, slots=True)
class PluginView:
    """One plugin of one side.

    ``facts`` are (what, whether it is as it must be) in reading order; ``ran`` maps each of its
    passes to the number of cases in which it ran; ``cases`` are those that it was loaded for and
    whose passes were traced, ``used`` those of them in which any of its passes ran.
    """

    role: str
    name: str
    proof: PluginProof
    facts: tuple[tuple[str, bool], ...]
    ran: tuple[tuple[str, int], ...]
    cases: int
    used: int

    @property
    def idle(self) -> list[str]:
        """The passes that it registered and that ran in no case."""
        return [name for name in self.proof.passes if name not in dict(self.ran)]


def plugins_of(run: Run, cases: Sequence[CaseView]) -> tuple[PluginView, ...]:
    """Every plugin of every side of a run."""
    return tuple(
        _view(role, proof, cases)
        for role, toolchain in run.toolchains.items()
        for proof in toolchain.plugins
    )


def passes_in(run: Run, result: CaseResult) -> list[tuple[str, str, dict[str, int]]]:
    """(role, plugin, its passes that ran and how often) for each plugin of a case's sides."""
    return [
        (role, name_of(proof), proof.ran(compilation))
        for role, compilation in result.compilations.items()
        if role in run.toolchains and compilation.trace
        for proof in run.toolchains[role].plugins
    ]


def name_of(proof: PluginProof) -> str:
    """What a plugin is called: as its descriptor says, else by its file."""
    return proof.plugin or proof.library.rpartition("/")[2]


def _view(role: str, proof: PluginProof, cases: Sequence[CaseView]) -> PluginView:
    compilations = [
        compilation
        for case in cases
        if (compilation := case.result.compilations.get(role)) is not None and compilation.trace
    ]
    counts: Counter[str] = Counter()
    used = 0
    for compilation in compilations:
        ran = proof.ran(compilation)
        counts.update(ran.keys())
        used += bool(ran)
    return PluginView(
        role=role,
        name=name_of(proof),
        proof=proof,
        facts=tuple(_facts(proof)),
        ran=tuple(counts.most_common()),
        cases=len(compilations),
        used=used,
    )


def _facts(proof: PluginProof) -> list[tuple[str, bool]]:
    facts = []
    if proof.library:
        facts = [
            ("not mapped before triton was imported", True)
            if not proof.mapped_before_import
            else ("mapped before triton was imported", False),
            (f"mapped by importing triton{f' ({proof.way})' if proof.way else ''}", True)
            if proof.mapped_after_import
            else ("not mapped", False),
            (f"API {proof.api_version}, built for Triton {proof.built_for_triton}", True),
            (
                f"registered {len(proof.passes)} passes, {len(proof.ops)} ops,"
                f" {len(proof.dialects)} dialects",
                True,
            ),
            (f"promised but missing: {', '.join(proof.missing)}", False)
            if proof.missing
            else ("none promised is missing", True),
        ]
    if proof.ops_without_result:
        facts.append((f"{len(proof.ops_without_result)} ops return nothing to Python", False))
    if proof.module_missing:
        facts.append(("kernels cannot import its module", False))
    if proof.hook:
        file = proof.hook.rpartition("/")[2]
        facts.append(
            (f"stage hook {file} has joined Triton's", True)
            if proof.hook_joined
            else (f"stage hook {file} has not joined Triton's", False)
        )
    return facts
