"""The regions of a difference as hunks, to look at: bounded, and saying where they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from harness.compare import elf, sass
from harness.compare.elfview import byte_rows, rows
from harness.compare.rules import apply_rules, rules_for
from harness.compare.text import NOTHING, CannotParse, Text
from harness.compare.textdiff import Difference
from harness.model import Hunk

Disassemble = Callable[[bytes], str]
Regions = Callable[[tuple[str, ...]], list[str]]

_LINES = 40
_LINE_LENGTH = 2000
_CONTEXT = 3


def limited(hunks: Iterable[Hunk], limit: int) -> tuple[tuple[Hunk, ...], int]:
    """The first ``limit`` hunks, and how many there are in all."""
    every = tuple(hunks)
    return every[:limit], len(every)


def text_hunks(
    forms: tuple[Text, Text], regions: Regions, difference: Difference
) -> Iterator[Hunk]:
    """One hunk for each span of ``difference``, which is one of ``forms``.

    The right side's lines are written with the left side's names, where they correspond.
    """
    left, right = forms
    names = regions(left.lines), regions(right.lines)
    for span in difference.spans:
        removed = left.lines[span.left_start : span.left_end]
        added = right.lines[span.right_start : span.right_end]
        region = names[0][span.left_start] if removed else names[1][span.right_start]
        yield Hunk(
            region,
            _line(left, span.left_start, span.left_end),
            _line(right, span.right_start, span.right_end),
            _bounded(removed),
            _bounded(difference.translated(added)),
            _bounded(left.lines[max(0, span.left_start - _CONTEXT) : span.left_start]),
        )


def _line(text: Text, start: int, end: int) -> int:
    """The first line in the artifact; of an empty span, the line before it (0: the start)."""
    if start < end:
        return text.origin[start]
    return text.origin[start - 1] if start else 0


def _bounded(lines: Sequence[str]) -> tuple[str, ...]:
    """At most ``_LINES`` lines of at most ``_LINE_LENGTH`` characters, saying what was cut."""
    shown = [_cut(line) for line in lines[:_LINES]]
    if len(lines) > _LINES:
        shown.append(f"... (cut: {len(lines) - _LINES} more lines)")
    return tuple(shown)


def _cut(line: str) -> str:
    if len(line) <= _LINE_LENGTH:
        return line
    return f"{line[:_LINE_LENGTH]} ... (cut: {len(line) - _LINE_LENGTH} more characters)"


# --- ELF ----------------------------------------------------------------------------------


def elf_hunks(
    sides: tuple[bytes, bytes],
    forms: tuple[Text, Text],
    difference: Difference,
    disassemble: Disassemble | None,
) -> Iterator[Hunk]:
    """Differing code as instructions (with ``disassemble``), other differing sections by their
    contents, then the differing lines of the descriptions ``forms``.

    The line numbers of contents are rows: records, or 16 bytes.
    """
    sections = _changed_sections(forms, difference)
    code = [name for name in sections if name.startswith(".text.")]
    if disassemble and code:
        yield from _code_hunks(sides, code, disassemble)
    for name in sections:
        if not (disassemble and name in code):
            yield from _content_hunks(sides, name)
    for hunk in text_hunks(forms, elf.FORMAT.regions, difference):
        if not sections or _but_contents(hunk.left) != _but_contents(hunk.right):
            yield hunk


def _but_contents(lines: tuple[str, ...]) -> list[str]:
    """A description without the hashes of contents, which are shown apart."""
    return [line.partition(" sha256=")[0] for line in lines]


def _changed_sections(forms: tuple[Text, Text], difference: Difference) -> list[str]:
    """The sections that both sides have, with other contents."""
    lines: list[dict[str, str]] = [{}, {}]
    for span in difference.spans:
        for side in (0, 1):
            for line in forms[side].lines[span[2 * side] : span[2 * side + 1]]:
                if line.startswith("section ") and "sha256=" in line:
                    lines[side][line.split(" ")[1]] = line.partition("sha256=")[2]
    return [name for name, sha in lines[0].items() if lines[1].get(name, sha) != sha]


def _code_hunks(
    sides: tuple[bytes, bytes], sections: list[str], disassemble: Disassemble
) -> Iterator[Hunk]:
    functions = {name.removeprefix(".text.") for name in sections}
    forms = _normal_sass(sides[0], disassemble), _normal_sass(sides[1], disassemble)
    difference = Difference(forms[0].lines, forms[1].lines, sass.FORMAT.volatile)
    hunks = text_hunks(forms, sass.FORMAT.regions, difference)
    yield from (hunk for hunk in hunks if hunk.region in functions)


def _normal_sass(data: bytes, disassemble: Disassemble) -> Text:
    text = disassemble(data).encode()
    try:
        return apply_rules(sass.FORMAT.load(text), rules_for("sass"))[0]
    except CannotParse:
        return Text.decode(text)


def _content_hunks(sides: tuple[bytes, bytes], name: str) -> Iterator[Hunk]:
    forms = rows(sides[0], name), rows(sides[1], name)
    if forms[0].lines == forms[1].lines:
        forms = (
            byte_rows(elf.section_bytes(sides[0], name)),
            byte_rows(elf.section_bytes(sides[1], name)),
        )
    difference = Difference(forms[0].lines, forms[1].lines, NOTHING)
    yield from text_hunks(forms, lambda lines: [name] * len(lines), difference)
