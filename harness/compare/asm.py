"""Rules for text assembly: PTX (stage ``ptx``) and AMD GCN (stage ``amdgcn``)."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict

from harness.compare.rules import rule
from harness.compare.text import (
    STRING,
    Blank,
    CannotParse,
    Format,
    Renaming,
    Text,
    substitute,
    tokens,
)

# --- PTX ----------------------------------------------------------------------------------

_PTX_COMMENT = tokens("//.*")


@rule("ptx.comments", "ptx")
def ptx_comments(text: Text) -> Text:
    """`//` comments and empty lines. ptxas skips them."""
    return (
        text.rewrite(substitute(_PTX_COMMENT, str(text), Blank())).each(str.rstrip).keep(str.strip)
    )


@rule("ptx.version", "ptx")
def ptx_version(text: Text) -> Text:
    """`.version`: the PTX dialect that the rest is written in.

    It follows from the ptxas a toolchain ships. What the instructions mean does not change
    between dialects; the `.target` line is compared.
    """
    return text.keep(lambda line: not line.startswith(".version "))


_PTX_DEBUG_LINE = re.compile(r"\s*\.(?:loc|file)\s")
_PTX_DEBUG_SECTION = re.compile(r"\s*\.section\s+\.debug_\w+\s*(.*)")
_PTX_DEBUG_LABEL = re.compile(r"(\$L__(?:tmp|func_begin|func_end|info_string)[0-9]+):")


@rule("ptx.debug-info", "ptx")
def ptx_debug_info(text: Text) -> Text:
    """`.loc`, `.file`, `.debug_*` sections, and the labels that only they refer to.

    They tell debuggers and profilers which source line made an instruction.
    """
    kept = []
    inside = pending = False
    for i, line in enumerate(text.lines):
        if inside:
            inside = line.strip() != "}"
        elif pending:
            if line.strip() != "{":
                raise CannotParse("a debug section without a body")
            pending, inside = False, True
        elif match := _PTX_DEBUG_SECTION.fullmatch(line.partition("//")[0]):
            pending = "{" not in match[1]
            inside = "{" in match[1] and "}" not in match[1]
        elif not _PTX_DEBUG_LINE.match(line):
            kept.append(i)
    if inside or pending:
        raise CannotParse("a debug section without its end")
    return _without_unused_labels(text.pick(kept), _PTX_DEBUG_LABEL)


def _without_unused_labels(text: Text, label: re.Pattern[str]) -> Text:
    """``text`` without lines that only define a ``label`` which nothing refers to."""
    found = {match[1]: i for i, line in enumerate(text.lines) if (match := label.match(line))}
    if not found:
        return text
    used = re.compile("|".join([re.escape(each) + r"\b(?!:)" for each in found]))
    unused = set(found) - set(used.findall(str(text)))
    drop = {found[each] for each in unused}
    return text.pick(i for i in range(len(text.lines)) if i not in drop)


_PTX_FUNCTION = re.compile(r"\s*(?:\.visible\s+|\.weak\s+)?\.(?:entry|func)\b")
_PTX_NAME = re.compile(r"\.(?:entry|func)\s+(?:\([^()]*\)\s*)?([\w$]+)")
_PTX_PRIVATE = re.compile(r"\s*\.func\s+(?:\([^()]*\)\s*)?([\w$]+)")


@rule("ptx.private-symbols", "ptx")
def ptx_private_symbols(text: Text) -> Text:
    """The names of functions that are neither visible, weak nor external, and of their
    parameters; fork and upstream mangle them differently.

    Only this module can call them; they are renamed in order of appearance, and calls follow.
    """
    names = Renaming(lambda k: f"private.{k}")
    matches = [_PTX_PRIVATE.match(line) for line in text.lines if ".func" in line]
    table = {match[1]: names[match[1]] for match in matches if match}
    if not table:
        return text
    either = "|".join(re.escape(each) for each in sorted(table, key=len, reverse=True))
    used = re.compile(rf"({STRING})|(?<![\w$])({either})(?=(_param_[0-9]+)?(?![\w$]))")
    return text.rewrite(used.sub(lambda match: match[1] or table[match[2]], str(text)))


_REGISTERS = re.compile(r"(\s*\.reg \.\w+\s+)%([A-Za-z]+)<[0-9]+>;")


@rule("ptx.registers", "ptx")
def ptx_registers(text: Text) -> Text:
    """The numbers of virtual registers, and how many of a class are declared.

    ptxas assigns the physical ones. Registers are numbered by first use within their class,
    function by function, so every operand is still compared; a declared count follows from
    the numbers.
    """
    declared = {match[2] for line in text.lines if (match := _REGISTERS.match(line))}
    if not declared:
        return text
    classes = "|".join(sorted(declared, key=len, reverse=True))
    register = tokens(rf"%(?:{classes})\.?[0-9]+(?!\w)")
    counters: dict[str, int] = defaultdict(int)
    starts = [i for i, line in enumerate(text.lines) if _PTX_FUNCTION.match(line)]
    done: list[str] = []
    for first, last in itertools.pairwise([0, *starts, len(text.lines)]):
        names = _Registers(counters)
        body = substitute(register, "\n".join(text.lines[first:last]), names)
        # A declaration comes before all uses, so what it declares is counted afterwards.
        lines = body.split("\n") if first < last else []
        done += [names.declare(line) if ".reg" in line else line for line in lines]
    return Text(tuple(done), text.origin)


class _Registers(dict[str, str]):
    """Registers of one function -> numbers that no other function uses."""

    def __init__(self, counters: dict[str, int]) -> None:
        super().__init__()
        self._counters = counters
        self._used: dict[str, int] = defaultdict(int)

    def __missing__(self, key: str) -> str:
        if key.startswith('"'):
            return key
        kind = key.rstrip("0123456789").removesuffix(".")
        new = self[key] = f"{kind}.{self._counters[kind]}"
        self._counters[kind] += 1
        self._used[kind] += 1
        return new

    def declare(self, line: str) -> str:
        match = _REGISTERS.fullmatch(line)
        return f"{match[1]}%{match[2]}<{self._used['%' + match[2]]}>;" if match else line


_PTX_LABEL = tokens(r"\$L_\w+")


@rule("ptx.labels", "ptx")
def ptx_labels(text: Text) -> Text:
    """The numbers of generated labels (`$L__BB0_3`).

    They are numbered by first use, so where each branch goes is still compared.
    """
    return text.rewrite(substitute(_PTX_LABEL, str(text), Renaming(lambda k: f"$L_{k}")))


# --- AMD GCN ------------------------------------------------------------------------------

_GCN_COMMENT = tokens(";.*")


@rule("amdgcn.comments", "amdgcn")
def gcn_comments(text: Text) -> Text:
    """`;` comments and empty lines. The assembler skips them.

    Register counts and occupancy in comments repeat what directives say, which are compared.
    """
    return (
        text.rewrite(substitute(_GCN_COMMENT, str(text), Blank())).each(str.rstrip).keep(str.strip)
    )


@rule("amdgcn.ident", "amdgcn")
def gcn_ident(text: Text) -> Text:
    """`.ident`: the compiler's name and version.

    The assembler writes them to the section `.comment`, which is not loaded.
    """
    return text.keep(lambda line: not line.lstrip().startswith(".ident"))


_GCN_SECTION = re.compile(r"\s*\.(?:section\s+\"?([\w.\-]+)|(text|data|bss|amdgpu_metadata)\b)")
_GCN_DEBUG_LINE = re.compile(r"\s*\.(?:loc|file|cfi_\w+)\b")
_GCN_DEBUG_LABEL = re.compile(r"(\.L(?:tmp|func_begin)[0-9]+):")


@rule("amdgcn.debug-info", "amdgcn")
def gcn_debug_info(text: Text) -> Text:
    """`.loc`, `.file`, `.cfi_*`, `.debug_*` sections, and labels that only they refer to.

    They make `.debug_*` sections, which debuggers and profilers read and the GPU does not.
    """
    kept, inside = [], False
    for i, line in enumerate(text.lines):
        if match := _GCN_SECTION.match(line):
            inside = (match[1] or "").startswith(".debug_")
        if not (inside or _GCN_DEBUG_LINE.match(line)):
            kept.append(i)
    return _without_unused_labels(text.pick(kept), _GCN_DEBUG_LABEL)


_GCN_LABEL = tokens(r"\.L(?:BB[0-9]+_|tmp|func_begin|func_end)[0-9]+\b")


@rule("amdgcn.labels", "amdgcn")
def gcn_labels(text: Text) -> Text:
    """The numbers of generated labels (`.LBB0_3`).

    They are numbered by first use, so where each branch goes is still compared.
    """
    return text.rewrite(substitute(_GCN_LABEL, str(text), Renaming(lambda k: f".L{k}")))


# --- reading ------------------------------------------------------------------------------


def _ptx_regions(lines: tuple[str, ...]) -> list[str]:
    """The function and its basic block; what is outside of functions is in `module`."""
    found, function, block = [], "", ""
    for line in lines:
        if _PTX_FUNCTION.match(line):
            match = _PTX_NAME.search(line)
            function, block = (match[1] if match else "function"), ""
        elif function and line.startswith("$L_") and ":" in line:
            block = f" / {line.partition(':')[0]}"
        found.append(function + block if function else "module")
        if line == "}":
            function = ""
    return found


_GCN_FUNCTION = re.compile(r"([A-Za-z_$][\w$.]*):")


def _gcn_regions(lines: tuple[str, ...]) -> list[str]:
    """The function and its basic block in `.text`, the section's name elsewhere."""
    found, section, function, block = [], "module", "", ""
    for line in lines:
        if match := _GCN_SECTION.match(line):
            section = match[1] or f".{match[2]}"
            function = block = ""
        elif section == ".text" and (match := _GCN_FUNCTION.match(line)):
            function, block = match[1], ""
        elif function and line.startswith(".L") and ":" in line:
            block = f" / {line.partition(':')[0]}"
        found.append(function + block or section)
    return found


PTX = Format(("ptx",), Text.decode, re.compile(r"%[A-Za-z]+\.[0-9]+\b|\$L_[0-9]+\b"), _ptx_regions)
AMDGCN = Format(("amdgcn",), Text.decode, re.compile(r"\.L[0-9]+\b"), _gcn_regions)
