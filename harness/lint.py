"""Weak cases: what a corpus says too little about for its equality to mean much."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from harness import checks
from harness.case import Kernel, Spec
from harness.corpus import Corpus
from harness.record import Record

_RING = re.compile(r"(NUM_)?(BUFFERS|STAGES)\Z")
_BLOCK = re.compile(r"BLOCK(_SIZE)?(_(?P<axis>\w+))?\Z")


class Weakness(Record, frozen=True):
    """One weak point of a kernel: where, and what to do about it."""

    kernel: str
    kind: str
    message: str


def lint(corpus: Corpus) -> tuple[Weakness, ...]:
    """The weak points of every kernel of ``corpus``, by kernel."""
    found: list[Weakness] = []
    for folder in sorted(set(corpus.folders.values())):
        mine = [case for case in corpus.cases if corpus.folders[case.id] == folder]
        kernel, _ = corpus.kernels[mine[0].id]
        name = mine[0].kernel
        for kind, message in _weaknesses(folder, kernel, [case.id for case in mine]):
            found.append(Weakness(name, kind, message))
        if kernel.expect == "compile":
            unchecked = sorted({str(c.target) for c in mine if not checks.files_for(c)})
            if unchecked:
                text = f"no FileCheck file applies on {', '.join(unchecked)}"
                found.append(Weakness(name, "no check", text + ": add <stage>.check"))
    return tuple(found)


def _weaknesses(folder: Path, kernel: Kernel, cases: list[str]) -> Iterator[tuple[str, str]]:
    source = (folder / "kernel.py").read_text()
    if "autotune" in _decorators(source):
        yield "unpinned", "the kernel is autotuned: pin each configuration as a Spec"
    if kernel.expect == "refuse":
        return
    if kernel.launch is None or kernel.reference is None:
        yield "no reference", "define launch and reference, so that it can run on a GPU"
    elif not (kernel.reference.__doc__ or "").strip():
        yield "no argued bound", "argue the error bound in the docstring of reference"
    for spec in kernel.specs:
        yield from _steps(spec)


def _steps(spec: Spec) -> Iterator[tuple[str, str]]:
    """Loops too short to fill and drain their ring, where sizes say how long they are."""
    sizes = {name.lower(): size for name, size in spec.problem.items()}
    rings = [v for k, v in spec.constexprs.items() if _RING.match(k) and isinstance(v, int)]
    for name, block in spec.constexprs.items():
        match = _BLOCK.match(name)
        if not rings or not match or not isinstance(block, int) or block == 0:
            continue
        axis = (match["axis"] or "n").lower()
        size = sizes.get(axis)
        alone = axis == "k" or not any(other in spec.constexprs for other in ("BLOCK_M", "BLOCK_K"))
        if size is None or axis == "m" or not alone:
            continue  # only the axis that the pipelined loop walks along
        steps = -(-size // block)
        if steps < max(rings) + 2:
            yield (
                "too few steps",
                f"{spec.name}: {steps} steps for {max(rings)} buffers; at least"
                f" {max(rings) + 2} are needed to go once around",
            )


def _decorators(source: str) -> set[str]:
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return set()
    return {
        node.attr
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for decorator in function.decorator_list
        for node in ast.walk(decorator)
        if isinstance(node, ast.Attribute)
    }
