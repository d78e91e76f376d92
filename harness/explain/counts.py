"""Counts: how often operations, waits, barriers, copies, ... occur on each side.

Operations can vanish without an error, so counts are part of what is said about a difference
even where the binaries agree.
"""

from __future__ import annotations

from collections import Counter

from harness.explain.roles import role
from harness.explain.statements import TEXTS, parse
from harness.explanation import Count

OPS = "ops"


def count(stage: str, text: str) -> dict[tuple[str, str], int]:
    """How often each ``(table, name)`` occurs in a stage's text; nothing for other stages.

    The table ``ops`` counts operations by family; the other tables, those that have a role,
    with its detail: ``("waits", "ttg.async_wait 1")``.
    """
    found: Counter[tuple[str, str]] = Counter()
    if stage not in TEXTS:
        return found
    for line in text.splitlines():
        for statement in parse(stage, line):
            found[OPS, statement.family] += 1
            part = role(statement)
            if part is not None:
                found[part.table, str(part)] += 1
    return found


def compare_counts(stage: str, left: str, right: str) -> tuple[Count, ...]:
    """Both sides' counts of one stage, sorted by table and name."""
    sides = count(stage, left), count(stage, right)
    return tuple(
        Count(stage, table, name, sides[0].get((table, name), 0), sides[1].get((table, name), 0))
        for table, name in sorted({*sides[0], *sides[1]})
    )


def one_sided(counts: tuple[Count, ...]) -> tuple[Count, ...]:
    """The operations that occur on one side only."""
    return tuple(c for c in counts if c.table == OPS and (c.left == 0) != (c.right == 0))
