"""Two pass sequences, aligned by name, with the size of the difference along them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from harness.compare import difference_size
from harness.explanation import AlignedPass
from harness.model import PassStep

Read = Callable[[str], bytes | None]
PLUGIN = ".passes.plugin."


def align(left: Sequence[PassStep], right: Sequence[PassStep]) -> tuple[AlignedPass, ...]:
    """The rows: a longest common subsequence of pass names, the rest as one-sided rows."""
    names = [step.name for step in left], [step.name for step in right]
    length = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i in range(len(left) - 1, -1, -1):
        for j in range(len(right) - 1, -1, -1):
            length[i][j] = (
                length[i + 1][j + 1] + 1
                if names[0][i] == names[1][j]
                else max(length[i + 1][j], length[i][j + 1])
            )
    rows = []
    i = j = 0
    while i < len(left) or j < len(right):
        both = i < len(left) and j < len(right)
        if both and names[0][i] == names[1][j]:
            rows.append(_row(left[i], right[j], i, j))
            i, j = i + 1, j + 1
        elif j == len(right) or (both and length[i + 1][j] >= length[i][j + 1]):
            rows.append(_row(left[i], None, i, None))
            i += 1
        else:
            rows.append(_row(None, right[j], None, j))
            j += 1
    return tuple(rows)


def measure(
    rows: Sequence[AlignedPass],
    left: Sequence[PassStep],
    right: Sequence[PassStep],
    read: Read,
) -> tuple[AlignedPass, ...]:
    """The rows with the difference after each, and the events along it.

    ``read`` gives the IR text of a hash; where it was not kept the difference is unknown.
    """
    sizes: dict[tuple[str, str], int | None] = {}
    measured = []
    previous: int | None = 0
    i = j = -1
    for row in rows:
        i = i if row.left is None else row.left
        j = j if row.right is None else row.right
        if i < 0 or j < 0:
            measured.append(msgspec.structs.replace(row, note="the other side has no IR yet"))
            continue
        pair = left[i].sha256, right[j].sha256
        if pair not in sizes:
            sizes[pair] = _size(pair, read)
        now = sizes[pair]
        event = _event(previous, now)
        note = "" if now is not None else "the IR here was hashed, not kept: too large"
        measured.append(msgspec.structs.replace(row, difference=now, event=event, note=note))
        previous = now if now is not None else previous
    return tuple(measured)


def _row(
    left: PassStep | None, right: PassStep | None, i: int | None, j: int | None
) -> AlignedPass:
    step = left or right
    assert step is not None  # a row comes from at least one side
    from_plugin = right is not None and (
        PLUGIN in right.adder or "/triton/" not in f"/{right.origin}"
    )
    return AlignedPass(
        manager=step.manager,
        name=step.name,
        left=i,
        right=j,
        left_options=left.options if left else "",
        right_options=right.options if right else "",
        plugin=from_plugin and step.manager != "front end",
    )


def _size(pair: tuple[str, str], read: Read) -> int | None:
    if pair[0] == pair[1]:
        return 0
    texts = read(pair[0]), read(pair[1])
    if texts[0] is None or texts[1] is None:
        return None
    return difference_size("ttgir", texts[0], texts[1])


def _event(before: int | None, now: int | None) -> str:
    if before is None or now is None or before == now:
        return ""
    if now == 0:
        return "vanishes"
    if before == 0:
        return "born"
    return "grows" if now > before else "shrinks"
