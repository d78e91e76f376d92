"""Hunks as two panes of lines: syntax colours, and marks on what differs within a line."""

from __future__ import annotations

import dataclasses
import functools
import html
import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from markupsafe import Markup
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Name, Number, String, _TokenType

LINES_SHOWN = 24
LINE_LENGTH = 600
_LANGUAGES = {
    "ttir": "mlir",
    "ttgir": "mlir",
    "llir": "llvm",
    "ptx": "ptx",
    "amdgcn": "gas",
    "metadata": "json",
}
_CLASSES: tuple[tuple[_TokenType, str], ...] = (
    (Comment, "c"),
    (String, "s"),
    (Number, "n"),
    (Keyword.Type, "t"),
    (Keyword, "k"),
    (Name.Function, "k"),
    (Name.Attribute, "t"),
)
_WORD = re.compile(r'"[^"]*"|[%#!@$]*[\w.$]+\'*|\s+|.', re.DOTALL)
_NOT_OPCODE = re.compile(r"[%$@]\S*|\d\S*|=")
# Control characters, and those that reorder or hide text around them.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)

Span = tuple[int, int]


@dataclasses.dataclass(frozen=True, slots=True)
class Line:
    """One line of a pane, ``number`` 0 if it has none; ``html`` is safe."""

    number: int
    html: Markup


@dataclasses.dataclass(frozen=True, slots=True)
class Panes:
    """Two columns of equal length, None where a side has no line, and the lines left out."""

    left: tuple[Line | None, ...]
    right: tuple[Line | None, ...]
    left_missing: int
    right_missing: int


def visible(text: str) -> str:
    """``text`` with invisible and reordering characters written as ``‹U+202E›``."""
    return _INVISIBLE.sub(lambda match: f"‹U+{ord(match[0]):04X}›", text)


def panes(
    stage: str, left: Sequence[str], right: Sequence[str], left_line: int = 0, right_line: int = 0
) -> Panes:
    """Lay two sides of a hunk out line against line, at most LINES_SHOWN of each.

    ``left_line`` and ``right_line`` number the first line of each side; 0 leaves lines unnumbered.
    """
    sides = [[visible(line.replace("\n", " ")) for line in s[:LINES_SHOWN]] for s in (left, right)]
    matched = _match(*sides)
    for a, b in matched:
        sides[0][a], sides[1][b] = _without_common_start(sides[0][a], sides[1][b])
    sides = [[_clip(line) for line in side] for side in sides]
    marks: dict[tuple[int, int], list[Span]] = {}
    for a, b in matched:
        marks[0, a], marks[1, b] = changed(sides[0][a], sides[1][b])
    columns: list[list[Line | None]] = []
    for side, indices in enumerate(_rows(matched, len(sides[0]), len(sides[1]))):
        first = (left_line, right_line)[side]
        lines = [
            Line(first + index if first else 0, _paint(pieces, marks.get((side, index), [])))
            for index, pieces in enumerate(_tokens(stage, sides[side]))
        ]
        columns.append([None if index is None else lines[index] for index in indices])
    return Panes(
        tuple(columns[0]), tuple(columns[1]), len(left) - len(sides[0]), len(right) - len(sides[1])
    )


def paint(stage: str, lines: Sequence[str]) -> Markup:
    """Lines with syntax colours, joined by newlines."""
    plain = [_clip(visible(line.replace("\n", " "))) for line in lines]
    return Markup("\n").join(_paint(line, []) for line in _tokens(stage, plain))


def changed(left: str, right: str) -> tuple[list[Span], list[Span]]:
    """The character ranges that differ between two lines, word by word.

    Lines with little in common give no ranges: marking nearly everything tells nothing.
    """
    a, b = _WORD.findall(left), _WORD.findall(right)
    short = min(len(a), len(b))
    head = 0
    while head < short and a[head] == b[head]:
        head += 1
    tail = 0
    while tail < short - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    middle = (a[head : len(a) - tail], b[head : len(b) - tail])
    matcher = SequenceMatcher(None, *middle, autojunk=False)
    blocks = matcher.get_matching_blocks()
    common = head + tail + sum(block.size for block in blocks)
    if 2 * common < max(len(a), len(b)):
        return [], []
    start = len("".join(a[:head]))
    return (
        _ranges(middle[0], [(x.a, x.a + x.size) for x in blocks], start),
        _ranges(middle[1], [(x.b, x.b + x.size) for x in blocks], start),
    )


def _ranges(words: list[str], equal: list[Span], start: int) -> list[Span]:
    """Character ranges of ``words`` outside the ``equal`` word ranges; near ones are joined."""
    ends = [start]
    for word in words:
        ends.append(ends[-1] + len(word))
    found: list[Span] = []
    at = 0
    for first, last in equal:
        if first > at:
            low, high = ends[at], ends[first]
            if found and low - found[-1][1] < 2:
                low = found.pop()[0]
            found.append((low, high))
        at = last
    return found


def _match(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    """Lines that are each other's like: in order if the counts are equal, else by opcode."""
    if len(left) == len(right):
        return [(index, index) for index in range(len(left))]
    keys = [_opcode(line) for line in right]
    found = []
    at = 0
    for index, line in enumerate(left):
        opcode = _opcode(line)
        if opcode in keys[at:]:
            found.append((index, keys.index(opcode, at)))
            at = found[-1][1] + 1
    return found


def _rows(
    matched: Sequence[tuple[int, int]], left: int, right: int
) -> tuple[list[int | None], list[int | None]]:
    """Both sides' line indices, row by row; what lies between matches shares rows."""
    columns: tuple[list[int | None], list[int | None]] = ([], [])
    low = (0, 0)
    for high in (*matched, (left, right)):
        gaps = [[*range(low[side], high[side])] for side in (0, 1)]
        for side, gap in enumerate(gaps):
            columns[side].extend([*gap, *[None] * (max(map(len, gaps)) - len(gap))])
        if high != (left, right):
            columns[0].append(high[0])
            columns[1].append(high[1])
        low = (high[0] + 1, high[1] + 1)
    return columns


def _opcode(line: str) -> str:
    words = _NOT_OPCODE.sub(" ", line).split()
    return words[0] if words else ""


def _without_common_start(left: str, right: str) -> tuple[str, str]:
    """Two lines too long to show, so cut that the place where they part is in sight."""
    if max(len(left), len(right)) <= LINE_LENGTH:
        return left, right
    both = zip(left, right, strict=False)
    parts = next((at for at, (a, b) in enumerate(both) if a != b), min(len(left), len(right)))
    alike = parts - LINE_LENGTH // 4
    if alike <= 0:
        return left, right
    note = f"{alike:,} characters alike … "
    return note + left[alike:], note + right[alike:]


def _clip(line: str) -> str:
    more = len(line) - LINE_LENGTH
    return f"{line[:LINE_LENGTH]} … {more:,} more characters" if more > 0 else line


@functools.cache
def _lexer(language: str) -> Lexer:
    return get_lexer_by_name(language)


def _tokens(stage: str, lines: Sequence[str]) -> list[list[tuple[str, str]]]:
    """For each line its pieces, each with a CSS class (or ``""``)."""
    if stage not in _LANGUAGES:
        return [[("", line)] for line in lines]
    found: list[list[tuple[str, str]]] = []
    line: list[tuple[str, str]] = []
    css, text = "", ""
    lexer = _lexer(_LANGUAGES[stage])
    for _, kind, value in lexer.get_tokens_unprocessed("\n".join([*lines, ""])):
        new = _css(kind)
        if new == css and "\n" not in value:
            text += value
            continue
        first, *others = value.split("\n")
        line.append((css, text))
        css, text = new, first
        for piece in others:
            line.append((css, text))
            found.append(line)
            line, text = [], piece
    return found


@functools.cache
def _css(kind: _TokenType) -> str:
    return next((css for parent, css in _CLASSES if kind[: len(parent)] == parent), "")


def _paint(pieces: list[tuple[str, str]], marks: list[Span]) -> Markup:
    out: list[str] = []
    at = 0
    spans = iter([*marks, (1 << 30, 1 << 30)])
    low, high = next(spans)
    for css, text in pieces:
        end = at + len(text)
        while at < end:
            if at >= high:
                low, high = next(spans)
            inside = low <= at
            stop = min(end, high if inside else low)
            piece = html.escape(text[at - end + len(text) : stop - end + len(text)], quote=False)
            if css and piece.strip():
                piece = f'<span class="{css}">{piece}</span>'
            out.append(f"<mark>{piece}</mark>" if inside else piece)
            at = stop
    return Markup("".join(out))
