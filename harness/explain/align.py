"""Two pass sequences, aligned by name, with the size of the difference along them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from harness.compare import difference_size
from harness.explanation import AlignedPass
from harness.model import PassStep

Read = Callable[[str], bytes | None]
PLUGIN = ".passes.plugin."
GENERIC = b'"builtin.module"'


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
    owned = _owned_managers(right)
    rows = []
    i = j = 0
    while i < len(left) or j < len(right):
        both = i < len(left) and j < len(right)
        if both and names[0][i] == names[1][j]:
            rows.append(_row(left[i], right[j], i, j, owned))
            i, j = i + 1, j + 1
        elif j == len(right) or (both and length[i + 1][j] >= length[i][j + 1]):
            rows.append(_row(left[i], None, i, None, owned))
            i += 1
        else:
            rows.append(_row(None, right[j], None, j, owned))
            j += 1
    return _with_partners(rows)


def measure(
    rows: Sequence[AlignedPass],
    left: Sequence[PassStep],
    right: Sequence[PassStep],
    read: Read,
) -> tuple[AlignedPass, ...]:
    """The rows with the difference after each, and the events along it.

    ``read`` gives the IR text of a hash; where it was not kept the difference is unknown.
    """
    sizes: dict[tuple[str, str], tuple[int | None, str]] = {}
    measured = []
    previous: int | None = None
    i = j = -1
    for row in rows:
        i = i if row.left is None else row.left
        j = j if row.right is None else row.right
        if i < 0 or j < 0:
            measured.append(msgspec.structs.replace(row, note="the other side has no IR yet"))
            continue
        pair = left[i].sha256, right[j].sha256
        if pair not in sizes:
            sizes[pair] = _size(stage_of(row.manager), pair, read)
        now, note = sizes[pair]
        event = ""
        if row.left is not None and row.right is not None:
            event = _event(previous or 0, now)
            previous = now if now is not None else previous
        measured.append(msgspec.structs.replace(row, difference=now, event=event, note=note))
    return tuple(measured)


def _with_partners(rows: list[AlignedPass]) -> tuple[AlignedPass, ...]:
    """Passes that only moved: one-sided rows of one name and manager, paired in order."""
    waiting: dict[tuple[str, str], list[int]] = {}
    for number, row in enumerate(rows):
        if row.right is None:
            waiting.setdefault((row.manager, row.name), []).append(number)
    for number, row in enumerate(rows):
        mine = waiting.get((row.manager, row.name))
        if row.left is None and mine:
            other = mine.pop(0)
            rows[number] = msgspec.structs.replace(row, partner=other)
            rows[other] = msgspec.structs.replace(rows[other], partner=number)
    return tuple(rows)


def _row(
    left: PassStep | None,
    right: PassStep | None,
    i: int | None,
    j: int | None,
    owned: frozenset[str],
) -> AlignedPass:
    step = left or right
    assert step is not None  # a row comes from at least one side
    if right is None:
        plugin = step.manager in owned
    elif left is None:
        plugin = PLUGIN in right.adder or _by_plugin(right)
    else:
        # A pass of Triton's own with the same options is Triton's, whoever added it.
        chosen = _by_plugin(right) and _options_differ(left.options, right.options)
        plugin = PLUGIN in right.adder or chosen
    return AlignedPass(
        manager=step.manager,
        name=step.name,
        left=i,
        right=j,
        left_options=left.options if left else "",
        right_options=right.options if right else "",
        plugin=plugin,
    )


def _options_differ(left: str, right: str) -> bool:
    """Whether an option that both sides' pass has is given another value; one that only one
    side's pass has belongs to the pass, not to who runs it."""
    sides = [dict(part.partition("=")[::2] for part in text.split()) for text in (left, right)]
    return any(sides[0][name] != sides[1][name] for name in sides[0].keys() & sides[1].keys())


def _by_plugin(step: PassStep) -> bool:
    """Whether code outside the ``triton`` package added this pass."""
    return bool(step.origin) and "/triton/" not in f"/{step.origin}"


def _owned_managers(right: Sequence[PassStep]) -> frozenset[str]:
    """The pass managers of the candidate that the plugin's own pipeline code fills."""
    managers = {step.manager for step in right if _by_plugin(step)}
    others = {step.manager for step in right if not _by_plugin(step)}
    return frozenset(managers - others)


def stage_of(manager: str) -> str:
    """The stage whose rules fit the IR after a pass of ``manager``."""
    return "ttir" if manager in ("front end", "make_ttir") else "ttgir"


def _size(stage: str, pair: tuple[str, str], read: Read) -> tuple[int | None, str]:
    if pair[0] == pair[1]:
        return 0, ""
    texts = read(pair[0]), read(pair[1])
    if texts[0] is None or texts[1] is None:
        return None, "the IR here was hashed, not kept: too large"
    if texts[0].startswith(GENERIC) != texts[1].startswith(GENERIC):
        return None, "one side's IR is not valid here and printed in MLIR's generic form"
    return difference_size(stage, texts[0], texts[1]), ""


def _event(before: int, now: int | None) -> str:
    if now is None or before == now:
        return ""
    if now == 0:
        return "vanishes"
    if before == 0:
        return "born"
    return "grows" if now > before else "shrinks"
