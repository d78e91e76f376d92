"""Rules for SASS, the text of `nvdisasm -hex` (stage ``sass``).

Addresses are ignored, since they repeat the instructions' positions. Encodings are kept and
compared: they hold what the text does not show, such as stall counts, barriers and reuse flags.
Text without encodings is refused.
"""

from __future__ import annotations

import re

from harness.compare.rules import rule
from harness.compare.text import CannotParse, Format, Renaming, Text, substitute, tokens

_ADDRESS = re.compile(r"(\s*)/\*[0-9a-f]{4,}\*/\s+(.*)")
_COLUMN = re.compile(r" +(?=/\* 0x)")
_ENCODING = re.compile(r"\s*/\* (0x[0-9a-f]{16}) \*/")
_INSTRUCTION = re.compile(r"\s*/\*[0-9a-f]{4,}\*/\s+[@A-Z{].*;")


def load(data: bytes) -> Text:
    """The text of nvdisasm, each instruction and its encoding on one line."""
    text = Text.decode(data)
    lines: list[str] = []
    origin = []
    for line, number in zip(text.lines, text.origin, strict=True):
        match = _ENCODING.fullmatch(line)
        if match and lines:
            lines[-1] += f" /* {match[1]} */"
        else:
            lines.append(line)
            origin.append(number)
    if any(_INSTRUCTION.match(line) and "/* 0x" not in line for line in lines):
        raise CannotParse("no encodings (nvdisasm without -hex): control codes cannot be compared")
    return Text(tuple(lines), tuple(origin))


_DEBUG_SECTION = re.compile(r"\.(?:nv\.merc\.)?(?:rela?\.)?(?:nv_)?debug_\w+|\.note\.nv\.tkinfo")
_SECTION = re.compile(r"\s*\.section\s+([^\s,]+)")
_LINE_INFO = re.compile(r"\s*//##")
_RULER = re.compile(r"//-+ ")


@rule("sass.debug-info", "sass")
def debug_info(text: Text) -> Text:
    """Line information (`//## File ...`) and sections for debuggers and about ptxas.

    They are the sections that `elf.debug-info` and `elf.tkinfo` ignore: none is loaded.
    """
    kept, inside = [], False
    for i, line in enumerate(text.lines):
        if match := _SECTION.match(line):
            inside = _DEBUG_SECTION.fullmatch(match[1]) is not None
        elif _RULER.match(line):
            inside = _DEBUG_SECTION.fullmatch(line.split()[1]) is not None
        if not (inside or _LINE_INFO.match(line)):
            kept.append(i)
    return text.pick(kept)


@rule("sass.addresses", "sass")
def addresses(text: Text) -> Text:
    """The address in front of each instruction and datum, alignment in columns, empty lines.

    An address is the number of bytes before it in its section, so it follows from the lines
    above. Branch targets are labels, and their distances are in the encodings.
    """

    def without(line: str) -> str:
        match = _ADDRESS.fullmatch(line)
        return match[1] + _COLUMN.sub(" ", match[2]) if match else line

    return text.each(without).keep(str.strip)


_LABEL = tokens(r"\.L_(?:x_)?[0-9]+\b")


@rule("sass.labels", "sass")
def labels(text: Text) -> Text:
    """The numbers of labels (`.L_x_3`), which nvdisasm makes up.

    They are numbered by first use, so where each branch goes is still compared.
    """
    return text.rewrite(substitute(_LABEL, str(text), Renaming(lambda k: f".L_{k}")))


_FUNCTION = re.compile(r"\.text\.([\w$.]+):")


def _regions(lines: tuple[str, ...]) -> list[str]:
    """The function in `.text.*`, the section's name elsewhere."""
    found, region = [], "header"
    for line in lines:
        if match := _SECTION.match(line) or _FUNCTION.match(line):
            region = match[1]
        found.append(region)
    return found


FORMAT = Format(("sass",), load, re.compile(r"\.L_[0-9]+\b"), _regions)
