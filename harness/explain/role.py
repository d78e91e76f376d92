"""A role: the part that a statement plays for an engineer who reads the code.

A wait with its depth, a barrier, a fence with its scope, a memory access with its width, a
matrix instruction with its shape. Statements without such a part have no role.
"""

from __future__ import annotations

import re
from typing import NamedTuple

WAITS = "waits"
BARRIERS = "barriers"
FENCES = "fences"
WARPS = "warp specialise"
SHARED = "shared memory"
GLOBAL = "global memory"
MMA = "mma"
COPIES = "async copies"
PROGRAM = "program id"


class Role(NamedTuple):
    """``name`` with ``detail`` (depth, scope, width, shape, ...), counted in ``table``.

    Two statements of one ``group`` do the same job, so they are compared with each other.
    """

    table: str
    group: str
    name: str
    detail: str

    def __str__(self) -> str:
        return f"{self.name} {self.detail}".rstrip()


_OPERAND = re.compile(r"(?:0x[0-9A-Fa-f]+|-?\d+)")


def numbers(rest: str) -> str:
    """Operands that are numbers (a barrier's id and threads); ``reg`` for the others."""
    operands = filter(None, (each.strip() for each in rest.split(",")))
    return ", ".join(each if _OPERAND.fullmatch(each) else "reg" for each in operands)
