"""What differs between two statements that do the same job, one of each side."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import NamedTuple

from harness.explain.statements import Statement

SIGNIFICANT, UNCLEAR, BENIGN = "significant", "unclear", "benign"


class Kind(NamedTuple):
    """A difference in a compiler engineer's words, and what it means for the code.

    ``constant`` marks a difference in numbers alone, ``text`` being ``a -> b`` then;
    ``operands`` one in the values that an operation is given; ``number`` one in how often it
    occurs.
    """

    text: str
    significance: str = UNCLEAR
    constant: bool = False
    operands: bool = False
    number: bool = False


def change(before: str, after: str) -> str:
    """``before -> after``, an absent side being ``none``."""
    return f"{before or 'none'} -> {after or 'none'}"


def differences(left: Statement, right: Statement) -> Iterator[Kind]:
    """The differences between two statements of the same family."""
    if left.identity == right.identity:
        yield Kind(f"predicate differs: {left.family}", operands=True)
    elif left.language == "mlir" == right.language and left.op == right.op:
        yield from _mlir(left, right)
    elif left.op != right.op:
        yield Kind(f"instruction differs: {change(left.op, right.op)}")
    else:
        yield from _operands(left, right, left.identity, right.identity)


# --- assembly and LLVM IR -----------------------------------------------------------------

NUMBER = re.compile(r"(?<![\w.%$#@])-?(?:0[xXdDfF][0-9A-Fa-f]+|\d[\d.]*(?:e[+-]?\d+)?)U?\b")


def _operands(left: Statement, right: Statement, before: str, after: str) -> Iterator[Kind]:
    """Numbers that differ where the rest is the same, and whether values differ besides."""
    if NUMBER.sub("0", before) != NUMBER.sub("0", after):
        yield Kind(f"operands differ: {left.family}", operands=True)
        return
    for a, b in zip(NUMBER.findall(before), NUMBER.findall(after), strict=True):
        if a != b:
            yield Kind(change(a, b), constant=True)
    if NUMBER.sub("0", left.rest) != NUMBER.sub("0", right.rest):
        physical = left.language in ("gcn", "sass")
        what = "register allocation" if physical else f"operands differ: {left.family}"
        yield Kind(what, operands=True)


# --- MLIR ---------------------------------------------------------------------------------

_ENCODING = re.compile(r"#[A-Za-z_][\w.]*")
_DICTIONARY = re.compile(r"<?\{([^{}]*)\}>?")
_ITEM = re.compile(r"(?:<[^<>]*>|\[[^\[\]]*\]|\([^()]*\)|\"(?:[^\"\\]|\\.)*\"|[^,])+")
_TYPES = re.compile(r" ?: | -> ")
_TYPE = re.compile(r"[^,(){}]*?<(?:[^<>]|<[^<>]*>)*>|[\w!.]+")
_REDUCTION = "reduction_ordering"


def _mlir(left: Statement, right: Statement) -> Iterator[Kind]:
    texts = [side.identity.removeprefix(side.op) for side in (left, right)]
    (before, old), (after, new) = map(_without_encodings, texts)
    yield from _attributes(before, after)
    yield from layouts(old, new)
    heads, types = zip(
        *(_split(_DICTIONARY.sub("", text)) for text in (before, after)), strict=True
    )
    if heads[0].count("%") != heads[1].count("%"):
        count = change(str(heads[0].count("%")), str(heads[1].count("%")))
        yield Kind(f"number of operands of {left.op} {count}", operands=True)
    elif heads[0] != heads[1]:
        yield from _operands(left, right, *heads)
    if types[0] != types[1]:
        pairs = zip_longest(*map(_TYPE.findall, types), fillvalue="")
        a, b = next((pair for pair in pairs if pair[0] != pair[1]), ("", ""))
        short = _short(a), _short(b)
        yield Kind(f"type differs: {change(*(short if short[0] != short[1] else (a, b)))}")


def _split(text: str) -> tuple[str, str]:
    """Operands and types."""
    match = _TYPES.search(text)
    return (text[: match.start()].strip(), text[match.end() :]) if match else (text.strip(), "")


def _short(kind: str) -> str:
    return re.sub(r", (?:#|mutable).*?(?=>)|!\w+\.|^[\s:<>-]+(?=[!\w])", "", kind).strip()


def _attributes(before: str, after: str) -> Iterator[Kind]:
    old, new = _items(before), _items(after)
    for name in dict.fromkeys([*old, *new]):
        a, b = old.get(name, "none"), new.get(name, "none")
        if a == b:
            continue
        if name == _REDUCTION:
            yield Kind(f"reduction order: {change(a, b)}", SIGNIFICANT)
        else:
            yield Kind(f"attribute differs: {name} {change(a, b)}")


def _items(text: str) -> dict[str, str]:
    """The attributes of an operation; those of a function's arguments count as one each."""
    found: dict[str, list[str]] = {}
    for dictionary in _DICTIONARY.findall(text):
        for item in _ITEM.findall(dictionary):
            name, equals, value = item.strip().partition(" = ")
            found.setdefault(name, []).append(value if equals else "set")
    return {name: " ".join(values) for name, values in found.items()}


def module_attributes(left: str, right: str) -> Iterator[Kind]:
    """The attributes that differ between two ``module attributes {...} {`` lines."""
    for kind in _attributes(left, right):
        yield Kind(kind.text.replace("attribute differs", "module attribute", 1))


# --- layouts ------------------------------------------------------------------------------


def _without_encodings(text: str) -> tuple[str, list[str]]:
    """``text`` with every layout as ``#``, and the layouts."""
    found, kept, start = [], [], 0
    for match in _ENCODING.finditer(text):
        if match.start() < start:
            continue
        end = match.end()
        if text[end : end + 1] == "<":
            end = _closing(text, end)
        found.append(text[match.start() : end])
        kept += [text[start : match.start()], "#"]
        start = end
    return "".join([*kept, text[start:]]), found


def _closing(text: str, start: int) -> int:
    """The end of the angle brackets that open at ``start``, or of the text."""
    depth = 0
    for i in range(start, len(text)):
        depth += {"<": 1, ">": -1}.get(text[i], 0)
        if depth == 0:
            return i + 1
    return len(text)


def layouts(left: list[str], right: list[str]) -> Iterator[Kind]:
    """Layouts (attributes of types) that differ, one kind for each pair."""
    pairs: dict[tuple[str, str], None] = {}
    for tag, i, j, k, m in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if tag != "equal":
            pairs.update(dict.fromkeys(zip_longest(left[i:j], right[k:m], fillvalue="")))
    for a, b in pairs:
        significance = SIGNIFICANT if a and b else UNCLEAR
        yield Kind(f"layout differs: {_layout_change(a, b)}", significance)


_PARAMETER = re.compile(r"(\w+) = ((?:\[[^=]*\]|[^,=]+))(?=, \w+ = |\}>|$)")
_PARENT = re.compile(r"parent = #(?:ttn?g\.)?(\w+(?:\.[0-9a-f]{6})?)")


def _layout_change(left: str, right: str) -> str:
    a, b = _name(left), _name(right)
    if a != b or "<" not in left:
        return change(a, b)
    old, new = dict(_PARAMETER.findall(left)), dict(_PARAMETER.findall(right))
    changed = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    if not changed:
        return change(left, right)
    name = changed[0]
    return f"{a} {name} {change(old.get(name, ''), new.get(name, ''))}"


def _name(layout: str) -> str:
    """`#ttg.slice<{dim = 0, parent = #blocked.05fa173a7dd4}>` is `slice of blocked.05fa17`."""
    head, _, body = layout.partition("<")
    name = re.sub(r"^#(?:ttn?g|tlx|amdg)\.", "", head).lstrip("#")
    name = re.sub(r"(\.[0-9a-f]{6})[0-9a-f]{6}$", r"\1", name)
    parent = _PARENT.search(body)
    return f"{name} of {parent[1]}" if parent else name


def definition(line: str) -> tuple[str, str] | None:
    """An alias's mnemonic and contents, for a line ``#blocked.1234 = #ttg.blocked<{...}>``."""
    match = re.match(r"#[\w.]+ = (#(?:\w+\.)?(\w+).*)", line)
    return (match[2], match[1]) if match else None
