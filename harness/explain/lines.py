"""Lines of a hunk: those with statements, and what the others are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from harness.explain.pairs import (
    BENIGN,
    SIGNIFICANT,
    Kind,
    change,
    definition,
    differences,
    layouts,
    module_attributes,
)
from harness.explain.statements import Statement, erase, parse
from harness.model import Hunk


class Line(NamedTuple):
    """A line of a hunk without comments. ``identity`` is it without names of values."""

    text: str
    identity: str
    statements: tuple[Statement, ...]


CUT = "... (cut:"
"""How a line begins that stands for more lines than a hunk shows."""

_DEBUG = re.compile(
    r"\s*(?:\.(?:loc|file|cfi_\w+|ident)\b|#loc|!\d+ = (?:distinct )?!DI|#dbg_"
    r"|\$L__(?:tmp|func)\w*:)"
)
_DEBUG_REGION = re.compile(r"\.(?:nv\.merc\.)?(?:rela?\.)?(?:nv_)?debug_")
_COMMENTS = {
    "llir": re.compile(r"^\s*;.*|\s+; .*$|,? !dbg ![0-9]+"),
    "ptx": re.compile(r"//.*"),
    "amdgcn": re.compile(r";.*"),
    "sass": re.compile(r"/\*.*?\*/|//.*"),
}


def read(stage: str, lines: Sequence[str], region: str) -> list[Line]:
    """The lines that say something about code: no comments, blank lines or debug info."""
    if _DEBUG_REGION.match(region):
        return []
    comment = _COMMENTS.get(stage)
    found = []
    for line in lines:
        if _DEBUG.match(line) or line.startswith(CUT):
            continue
        text = comment.sub("", line).strip() if comment else line.strip()
        if text:
            found.append(Line(text, erase(stage, text), parse(stage, line)))
    return found


# --- lines without statements ---------------------------------------------------------------

_NAMED = (
    (re.compile(r"(module) .*|(module) \{"), "module attribute"),
    (re.compile(r"(attributes) #"), "attribute differs: function attributes"),
    (re.compile(r"(define|declare) .*?(@[\w$.]+)"), "signature differs:"),
    (re.compile(r"(@[\w$.]+) = "), "global variable differs:"),
    (
        re.compile(
            r"(\.(?:maxnreg|maxntid|reqntid|minnctapersm|reqnctapercluster|maxclusterrank"
            r"|explicitcluster|blocksareclusters))\b"
        ),
        "launch bound",
    ),
    (re.compile(r"(\.reg) "), "virtual registers declared"),
    (re.compile(r"(?:\.\w+ )*(\.shared) "), "shared memory declared"),
    (re.compile(r"(!\w+'?) = "), "metadata"),
    (re.compile(r"(i\d+) -?\d+, label "), "cases of a switch"),
    (re.compile(r"(\.(?:version|target|headerflags|amdgcn_target))\b"), "target or version"),
    (re.compile(r"\.set (?:.*\.)?(\w+),"), "launch metadata"),
    (re.compile(r"-? ?(\.[a-z]\w*):"), "launch metadata"),
    (re.compile(r"(\.amdhsa_\w+)"), "launch metadata"),
    (
        re.compile(
            r"(\.section|\.sectionflags|\.align|\.p2align|\.size|\.type|\.global|\.local)\b"
        ),
        "section directive",
    ),
    (
        re.compile(
            r"(\.(?:byte|b8|b16|b32|b64|long|quad|short|word|dword|asciz?|string|uleb128"
            r"|sleb128|zero|fill))\b"
        ),
        "data",
    ),
)
_LAUNCH = ("launch bound", "launch metadata")
"""Titles whose lines are settings: the name, then its value."""


def other_kinds(
    stage: str, left: list[str], right: list[str], sides: tuple[str, str]
) -> Iterator[Kind]:
    """The kinds of lines that execute nothing: aliases, attributes, directives, metadata."""
    if stage in ("ttir", "ttgir"):
        yield from _definitions(left, right, sides)
        ends = ([line for line in side if line.startswith("}")] for side in (left, right))
        for a, b in zip(*ends, strict=False):
            yield from differences(Statement("mlir", "region", a), Statement("mlir", "region", b))
    modules = [
        next((line for line in side if line.startswith("module")), "") for side in (left, right)
    ]
    if all(modules):
        yield from module_attributes(*modules)
    old, new = _settings(left), _settings(right)
    for title, name in dict.fromkeys([*old, *new]):
        if title == "module attribute":
            continue
        values = old.get((title, name), ""), new.get((title, name), "")
        if title in _LAUNCH:
            significance = SIGNIFICANT if title == "launch bound" else "unclear"
            yield Kind(f"{title}: {name} {change(*values)}", significance)
        elif title.endswith(":"):
            yield Kind(f"{title} {name}")
        else:
            yield Kind(title)


def _settings(lines: list[str]) -> dict[tuple[str, str], str]:
    found = {}
    for line in lines:
        for pattern, title in _NAMED:
            if match := pattern.match(line):
                name = match[match.lastindex or 0]
                found[title, name] = line[match.end() :].strip(" :,") or "set"
                break
    return found


def metadata_kinds(hunk: Hunk) -> list[Kind]:
    """The keys of the launch metadata that differ, from lines ``key = value``."""
    old, new = (dict(line.split(" = ", 1) for line in side) for side in (hunk.left, hunk.right))
    changed = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    return [
        Kind(f"launch metadata: {key} {change(old.get(key, ''), new.get(key, ''))}")
        for key in changed
    ] or [Kind("launch metadata")]


def _definitions(left: list[str], right: list[str], sides: tuple[str, str]) -> Iterator[Kind]:
    """Layouts that only one side defines, the same mnemonic of both sides being one change."""
    old, new = ([found for line in side if (found := definition(line))] for side in (left, right))
    for mnemonic in dict.fromkeys(name for name, _ in [*old, *new]):
        a = [text for name, text in old if name == mnemonic]
        b = [text for name, text in new if name == mnemonic]
        yield from layouts(a[: len(b)], b[: len(a)])
        for side, extra in ((sides[0], a[len(b) :]), (sides[1], b[len(a) :])):
            if extra:
                yield Kind(f"layout differs: {mnemonic} only on {side} side", SIGNIFICANT)


def is_listing(hunk: Hunk) -> bool:
    """Whether a hunk of a cubin shows instructions: its region is then a function."""
    return not hunk.region.startswith(".") and any(
        parse("sass", line) or line.lstrip().startswith(".") for line in (*hunk.left, *hunk.right)
    )


# --- sections of binaries -------------------------------------------------------------------

_SECTIONS = (
    (re.compile(r"\.(?:nv\.merc\.)?(?:rela?\.)?(?:nv_)?debug_"), "debug info", BENIGN),
    (re.compile(r"\.comment|\.note\.nv\.tkinfo"), "name of the tool that made it", BENIGN),
    (re.compile(r"\.text|segment"), "executable code", SIGNIFICANT),
    (re.compile(r"\.nv\.capmerc"), "executable code (.nv.capmerc)", SIGNIFICANT),
    (re.compile(r"\.(?:nv\.merc\.)?nv\.info"), "launch metadata (.nv.info)", "unclear"),
    (re.compile(r"\.nv\.compat|\.note\.nv\.cuinfo"), "toolkit version and requirements", "unclear"),
    (re.compile(r"\.note"), "launch metadata (.note)", "unclear"),
    (re.compile(r"\.rodata"), "launch metadata (kernel descriptor)", "unclear"),
    (re.compile(r"\.nv\.constant|\.data|\.nv\.global"), "constants", "unclear"),
    (re.compile(r"\.(?:nv\.merc\.)?nv\.shared"), "size of shared memory", "unclear"),
    (re.compile(r"\.(?:nv\.merc\.)?rela?\.|relocation"), "relocations", "unclear"),
    (
        re.compile(r"symbol|\.(?:nv\.merc\.)?symtab|\.dynsym|\.(?:sh|dyn)?strtab|\.(?:gnu\.)?hash"),
        "symbols",
        "unclear",
    ),
    (re.compile(r"layout"), "layout of the file", "unclear"),
    (re.compile(r"header"), "ELF header", "unclear"),
)
_SECTION_NAME = re.compile(r"(?:section |name=)(\.[\w.$]+)")


def section_kind(hunk: Hunk) -> Kind:
    """The kind of a difference in a cubin or hsaco, from the section that it lies in."""
    named = [
        match[1] for line in (*hunk.left, *hunk.right) if (match := _SECTION_NAME.search(line))
    ]
    for name in filter(None, [hunk.region, *named]):
        for pattern, text, significance in _SECTIONS:
            if pattern.match(name):
                return Kind(text, significance)
    return Kind(f"section {hunk.region or 'unknown'}")
