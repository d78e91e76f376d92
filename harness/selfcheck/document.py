"""``docs/selfcheck.md``: the published table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from harness.model import ToolchainIdentity
from harness.selfcheck.table import HEAD, Row, cells, total

_ABOUT = """# The checker, checked

Written by `tlx-equiv selfcheck --out docs/selfcheck.md`; do not edit. With `--self`, which
`make selfcheck` adds, self against self covers the whole corpus, else five cases.

Differences are planted, from a seed, in real artifacts of a fixed sample of the corpus on every
target, in pipelines, toolchains and stored evidence. *Caught*: judged different (void, refused,
or made again). *Located*: shown at its place, and called what it is. Benign changes must be seen
in the bytes (*caught*), be put down to the rule that names them (*located*), and must not be
judged different (*wrongly flagged*). "Self against self" compiles with two environments that were
made from the same pins, one after the other at the same place (line information holds the paths
and dates of a toolchain's own files); every artifact and the IR after every pass must be identical
to the last byte.

What the counts leave out: a changed pipeline that comes to the same code leaves nothing to find
and is not counted. A branch with its targets exchanged counts as located wherever in the artifact
the difference is shown, since blocks are numbered by first use. An artifact that is cut off counts
as located if the side is named or lines are shown. In "self against self" only *wrongly flagged*
measures anything. Outputs are random bits, not those of a kernel.
"""


def write(rows: Sequence[Row], toolchains: Mapping[str, ToolchainIdentity]) -> str:
    """The whole document."""
    pins = [
        f"- {role}: {', '.join(identity.distributions)}" for role, identity in toolchains.items()
    ]
    groups = dict.fromkeys(row.group for row in rows)
    sums = [total([row for row in rows if row.group == group], group) for group in groups]
    parts = [_ABOUT, "\n".join(pins) + "\n", "## All\n", _table([*sums, total(rows, "**all**")])]
    for group in groups:
        heading = group[0].upper() + group[1:]
        parts += [f"## {heading}\n", _table(row for row in rows if row.group == group)]
    return "\n".join(parts)


def _table(rows: Iterable[Row]) -> str:
    lines = [HEAD, ("---", *["---:"] * (len(HEAD) - 1)), *map(cells, rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
