"""Named rewrites that let one side's back end read the other side's TTGIR.

Each turns a spelling that only one side has into the other's; none changes what the IR means.
They are tried only where the text does not parse as it is.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable


@dataclasses.dataclass(frozen=True)
class Rewrite:
    """``apply`` is a text substitution; ``why`` says what it bridges."""

    name: str
    apply: Callable[[str], str]
    why: str


def _sub(pattern: str, replacement: str) -> Callable[[str], str]:
    compiled = re.compile(pattern)
    return lambda text: compiled.sub(replacement, text)


REWRITES = (
    Rewrite(
        "tensordesc.inner-tensor-to-layout",
        _sub(r"!tt\.tensordesc<tensor<([^<>,]+), (#\w+)>>", r"!tt.tensordesc<\1, \2>"),
        "the fork wraps a descriptor's block in tensor<...>, upstream does not",
    ),
    Rewrite(
        "tensordesc.layout-to-inner-tensor",
        _sub(r"!tt\.tensordesc<(?!tensor<)([^<>,]+), (#\w+)>", r"!tt.tensordesc<tensor<\1, \2>>"),
        "the reverse of tensordesc.inner-tensor-to-layout",
    ),
    Rewrite(
        "barrier.rank-1-to-2",
        _sub(r"!ttg\.memdesc<(\d+)xi64,", r"!ttg.memdesc<\1x1xi64,"),
        "a ring of barriers is Nxi64 on one side and Nx1xi64 on the other; same bytes",
    ),
    Rewrite(
        "barrier.rank-2-to-1",
        _sub(r"!ttg\.memdesc<(\d+)x1xi64,", r"!ttg.memdesc<\1xi64,"),
        "the reverse of barrier.rank-1-to-2",
    ),
    Rewrite(
        "tma-store-wait.drop-read-only",
        _sub(r"(ttng\.async_tma_store_wait \{[^}]*?), read_only", r"\1"),
        "upstream marks a wait that only lets the source be reused; the fork has no such mark",
    ),
    Rewrite(
        "module.drop-tlx-attributes",
        _sub(r"\btlx\.[\w.]+ = [^,}]+,? ?", ""),
        "attributes of a dialect that the other side has not registered",
    ),
)


def candidates(text: str) -> tuple[tuple[str, str], ...]:
    """The rewritings worth trying, in order, each with the names of its rewrites.

    First each rewrite alone, then each direction together with all that do not undo it.
    """
    forward = [r for r in REWRITES if not r.name.endswith(("to-inner-tensor", "rank-2-to-1"))]
    backward = [r for r in REWRITES if not r.name.endswith(("to-layout", "rank-1-to-2"))]
    tried: dict[str, str] = {}
    for group in (*([r] for r in REWRITES), forward, backward):
        changed = text
        names = []
        for rewrite in group:
            after = rewrite.apply(changed)
            if after != changed:
                names.append(rewrite.name)
                changed = after
        if names and changed not in tried:
            tried[changed] = ", ".join(names)
    return tuple((names, changed) for changed, names in tried.items())
