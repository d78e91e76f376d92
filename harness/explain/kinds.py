"""Kinds: what a hunk is, in a compiler engineer's words, and whether it matters.

Significant is what changes how the GPU waits, synchronises, accesses memory or multiplies;
benign is only what never reaches the GPU; everything else is unclear.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from harness.explain import role as tables
from harness.explain.classes import arithmetic
from harness.explain.lines import (
    CUT,
    Line,
    is_listing,
    metadata_kinds,
    other_kinds,
    read,
    section_kind,
)
from harness.explain.pairs import BENIGN, NUMBER, SIGNIFICANT, UNCLEAR, Kind, change, differences
from harness.explain.role import Role
from harness.explain.roles import role
from harness.explain.statements import TEXTS, Statement
from harness.model import Hunk

SEPARATOR = "; "
_MOST = 6
_RANK = (SIGNIFICANT, UNCLEAR, BENIGN)
_TITLES = {
    tables.WAITS: "wait depth",
    tables.BARRIERS: "barrier scope/semantics:",
    tables.FENCES: "barrier scope/semantics:",
    tables.WARPS: "register request",
    tables.SHARED: "vector width",
    tables.GLOBAL: "vector width",
    tables.MMA: "mma shape/instruction:",
    tables.COPIES: "async copy differs:",
    tables.PROGRAM: "program id register:",
}

_IN_FULL = (tables.BARRIERS, tables.FENCES, tables.MMA, tables.PROGRAM)


def classify(stage: str, hunk: Hunk, sides: tuple[str, str] = ("fork", "plugin")) -> Hunk:
    """The hunk with its kinds, joined by ``"; "`` with the most significant first, and the
    significance of the most significant one. ``sides`` are the words for left and right."""
    ranked = sorted(_kinds(stage, hunk, sides), key=lambda kind: _RANK.index(kind.significance))
    texts = list(dict.fromkeys(kind.text for kind in ranked))
    more = [f"{len(texts) - _MOST} more kinds"] if len(texts) > _MOST else []
    return msgspec.structs.replace(
        hunk,
        kind=SEPARATOR.join(texts[:_MOST] + more),
        significance=ranked[0].significance,
    )


def summarise(hunks: Iterable[Hunk]) -> tuple[str, ...]:
    """The distinct kinds of classified hunks, most significant and most frequent first, with
    the number of hunks of each where there are several: ``"order only (3)"``."""
    counts: Counter[str] = Counter()
    rank: dict[str, int] = {}
    for hunk in hunks:
        for i, kind in enumerate(filter(None, hunk.kind.split(SEPARATOR))):
            counts[kind] += 1
            # Only the first kind is known to be as significant as its hunk.
            own = _RANK.index(UNCLEAR if i else hunk.significance)
            rank[kind] = min(rank.get(kind, own), own)
    order = sorted(counts, key=lambda kind: (rank[kind], -counts[kind]))
    return tuple(f"{kind} ({counts[kind]})" if counts[kind] > 1 else kind for kind in order)


def _kinds(stage: str, hunk: Hunk, sides: tuple[str, str]) -> list[Kind]:
    if stage == "hsaco" or (stage == "cubin" and not is_listing(hunk)):
        return [section_kind(hunk)]
    if stage == "cubin":
        stage = "sass"
    if stage == "metadata":
        return metadata_kinds(hunk)
    if stage not in TEXTS:
        return [Kind("text")]
    left, right = (read(stage, lines, hunk.region) for lines in (hunk.left, hunk.right))
    cut = [any(line.startswith(CUT) for line in lines) for lines in (hunk.left, hunk.right)]
    if not left and not right:
        return [Kind("debug info or comments", BENIGN)]
    if not any(cut) and [line.identity for line in left] == [line.identity for line in right]:
        return [_names_only(stage, left, right)]
    only = Counter(map(_without_numbers, left)) == Counter(map(_without_numbers, right))
    left, right = _remaining(left, right)
    if not any(cut) and not left and not right:
        return [Kind("order only")]
    groups = _groups(left), _groups(right)
    found: list[Kind] = []
    for group in dict.fromkeys([*groups[0], *groups[1]]):
        members = groups[0].get(group, []), groups[1].get(group, [])
        # What one side does not show may lie in the part that was cut from it.
        if not any(not each and side_cut for each, side_cut in zip(members, cut, strict=True)):
            found += _group(*members, sides)
    found += other_kinds(
        stage,
        [line.text for line in left if not line.statements],
        [line.text for line in right if not line.statements],
        sides,
    )
    if any(cut):
        found = [kind for kind in found if not kind.number]
        found.append(Kind("large region, not shown whole"))
    return _with_constants(found, only) or [Kind("labels or punctuation")]


def _names_only(stage: str, left: Sequence[Line], right: Sequence[Line]) -> Kind:
    """The same operations in the same order, with values or registers of other names."""
    if [line.text for line in left] == [line.text for line in right]:
        return Kind("control codes")
    if stage in ("sass", "amdgcn"):
        return Kind("register allocation")
    pairs = zip(left, right, strict=True)
    first = next(a for a, b in pairs if a.text != b.text)
    families = [statement.family for statement in first.statements]
    return Kind(f"operands differ: {families[0] if families else 'signature or labels'}")


def _remaining(left: list[Line], right: list[Line]) -> tuple[list[Line], list[Line]]:
    """The lines that the other side does not have, whatever the order."""
    sides = []
    for lines, others in ((left, right), (right, left)):
        there = Counter(line.identity for line in others)
        rest = []
        for line in lines:
            if there[line.identity]:
                there[line.identity] -= 1
            else:
                rest.append(line)
        sides.append(rest)
    return sides[0], sides[1]


_Member = tuple[Statement, Role | None]


def _groups(lines: list[Line]) -> dict[str, list[_Member]]:
    """Statements by the job they do; arithmetic of a sort is one job."""
    found: dict[str, list[_Member]] = defaultdict(list)
    for line in lines:
        for statement in line.statements:
            part = role(statement)
            key = part.group if part else arithmetic(statement) or statement.family
            found[key].append((statement, part))
    return found


def _group(left: list[_Member], right: list[_Member], sides: tuple[str, str]) -> Iterator[Kind]:
    statement, part = (left or right)[0]
    sort = None if part else arithmetic(statement)
    if sort:
        yield from _arithmetic(sort, left, right)
    elif not left or not right:
        yield from _one_sided(left or right, sides[0] if left else sides[1])
    elif part:
        yield from _roles(part.table, left, right)
    else:
        yield from _pairwise(left, right)


def _one_sided(members: list[_Member], side: str) -> Iterator[Kind]:
    for statement, part in members:
        matters = part is not None or statement.op.startswith(("ttg.", "ttng.", "tlx.", "amdg."))
        yield Kind(
            f"op only on {side} side: {part.name if part else statement.family}",
            SIGNIFICANT if matters else UNCLEAR,
        )


def _roles(table: str, left: list[_Member], right: list[_Member]) -> Iterator[Kind]:
    before, after = (Counter(part for _, part in side if part) for side in (left, right))
    if table in (tables.SHARED, tables.GLOBAL):
        # A vector access stands for several narrow ones, so numbers do not count here.
        old, new = sorted(before.keys() - after.keys()), sorted(after.keys() - before.keys())
        if old or new:
            yield _role_change(table, old or sorted(before), new or sorted(after))
            return
    else:
        old, new = sorted(before - after), sorted(after - before)
        if old and new:
            yield _role_change(table, old, new)
    if len(left) != len(right):
        name = min(before | after).name
        number = change(str(len(left)), str(len(right)))
        yield Kind(f"number of {name} {number}", SIGNIFICANT, number=True)
    elif not old and not new:
        yield from _pairwise(left, right)


def _role_change(table: str, old: list[Role], new: list[Role]) -> Kind:
    names = [", ".join(dict.fromkeys(part.name for part in side)) for side in (old, new)]
    details = [", ".join(dict.fromkeys(part.detail for part in side)) for side in (old, new)]
    same = details[0] == details[1]
    if same and table in (tables.SHARED, tables.GLOBAL):
        return Kind(f"address space or form: {change(*names)}")
    if table == tables.WARPS and old[0].group == "partition":
        numbers = [text.replace(" warps", "") for text in details]
        return Kind(f"warps of a partition: {change(*numbers)}", SIGNIFICANT)
    if table == tables.WARPS:
        details = [text.removeprefix("registers ") for text in details]
    if same or table in _IN_FULL or not all(details):
        texts = [", ".join(map(str, side)) for side in (old, new)]
        return Kind(f"{_TITLES[table]} {change(*texts)}", SIGNIFICANT)
    name = names[0] if names[0] == names[1] else change(*names)
    return Kind(f"{_TITLES[table]} {change(*details)} ({name})", SIGNIFICANT)


def _pairwise(left: list[_Member], right: list[_Member]) -> Iterator[Kind]:
    for (a, _), (b, _) in zip(left, right, strict=False):
        yield from differences(a, b)
    if len(left) != len(right):
        number = change(str(len(left)), str(len(right)))
        yield Kind(f"number of {left[0][0].family} {number}", number=True)


def _arithmetic(sort: str, left: list[_Member], right: list[_Member]) -> Iterator[Kind]:
    """What differs in the same operations; else one kind for the whole computation."""
    old, new = _by_op(left), _by_op(right)
    other = {op: len(members) for op, members in old.items()} != {
        op: len(members) for op, members in new.items()
    }
    found = [] if other else [kind for op in old for kind in _pairwise(old[op], new[op])]
    yield from (kind for kind in found if not kind.operands)
    if other or any(kind.operands for kind in found):
        yield Kind(sort)


def _by_op(members: list[_Member]) -> dict[str, list[_Member]]:
    found: dict[str, list[_Member]] = defaultdict(list)
    for member in members:
        found[member[0].op].append(member)
    return found


def _without_numbers(line: Line) -> str:
    return NUMBER.sub("0", line.text)


def _with_constants(kinds: list[Kind], only: bool) -> list[Kind]:
    """The kinds, with those of numbers drawn together into one."""
    numbers = list(dict.fromkeys(kind.text for kind in kinds if kind.constant))
    rest = [kind for kind in kinds if not kind.constant]
    if numbers:
        some = ", ".join(numbers[:3]) + (", ..." if len(numbers) > 3 else "")
        rest.append(Kind(f"constants {'only' if only else 'differ'}: {some}"))
    return rest
