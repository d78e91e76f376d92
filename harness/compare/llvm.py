"""Rules for LLVM IR text (stage ``llir``)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from harness.compare.rules import rule
from harness.compare.text import (
    STRING,
    Blank,
    CannotParse,
    Format,
    Known,
    Renaming,
    Text,
    substitute,
    tokens,
)

_COMMENT = tokens(";.*")


@rule("llvm.comments", "llir")
def comments(text: Text) -> Text:
    """Comments (`; preds = %5`, `; Function Attrs: nounwind`, `; ModuleID`) and empty lines.

    The IR parser skips them.
    """
    return text.rewrite(substitute(_COMMENT, str(text), Blank())).each(str.rstrip).keep(str.strip)


@rule("llvm.source-filename", "llir")
def source_filename(text: Text) -> Text:
    """`source_filename`: a name for diagnostics and debug information only."""
    return text.keep(lambda line: not line.startswith("source_filename = "))


# --- attribute groups ---------------------------------------------------------------------

_GROUP = tokens(r"#[0-9]+")
_GROUP_LINE = re.compile(r"attributes (#[0-9]+) = \{(.*)\}")


@rule("llvm.attribute-groups", "llir")
def attribute_groups(text: Text) -> Text:
    """The numbers of attribute groups and the order of their definitions.

    Each is renamed after its contents; the definitions stay in the text and are compared.
    """
    table: dict[str, str] = {}
    heads, groups = [], []
    for i, line in enumerate(text.lines):
        match = _GROUP_LINE.fullmatch(line)
        if match:
            table[match[1]] = f"#attributes.{hashlib.sha256(match[2].encode()).hexdigest()[:12]}"
            groups.append(i)
        else:
            heads.append(i)
    text = text.rewrite(substitute(_GROUP, str(text), Known(table)))
    return text.pick([*heads, *sorted(groups, key=lambda i: text.lines[i])])


# --- metadata -----------------------------------------------------------------------------

_NODE = tokens(r"![0-9]+")
_DEFINITION = re.compile(r"(![0-9]+) = (.*)")
_DEBUG_NODE = re.compile(r"(?:distinct )?!DI[A-Za-z]+\(.*\)")
_DEBUG_FLAG = re.compile(r'!\{i32 \d, !"(?:Debug Info Version|Dwarf Version)", i32 \d\}')
_DEBUG_RECORD = re.compile(r"\s*(?:#dbg_\w+\(|(?:tail )?call void @llvm\.dbg\.)")
_DEBUG_LINE = re.compile(r"!llvm\.dbg\.cu = |declare .*@llvm\.dbg\.")
_ATTACHMENT = tokens(r", !dbg ![0-9]+| !dbg ![0-9]+")


@rule("llvm.ident", "llir")
def ident(text: Text) -> Text:
    """`!llvm.ident`: the name of the compiler that made a linked-in library."""
    return _reachable(text.keep(lambda line: not line.startswith("!llvm.ident = ")))


@rule("llvm.debug-info", "llir")
def debug_info(text: Text) -> Text:
    """`!dbg` attachments, debug records, and the metadata that only they reach.

    Code generation makes line tables and DWARF from them and no instructions.
    """
    text = text.keep(lambda line: not (_DEBUG_LINE.match(line) or _DEBUG_RECORD.match(line)))
    text = text.rewrite(substitute(_ATTACHMENT, str(text), Blank()))
    debug = {
        match[1]
        for line in text.lines
        if (match := _DEFINITION.fullmatch(line))
        and (_DEBUG_NODE.fullmatch(match[2]) or _DEBUG_FLAG.fullmatch(match[2]))
    }
    if not debug:
        return text
    return _reachable(text.each(lambda line: _without_operands(line, debug)))


def _without_operands(line: str, nodes: set[str]) -> str:
    """A tuple (`!{!1, !2}`) without ``nodes``: locations of loops, flags for debuggers."""
    head, brace, operands = line.partition("!{")
    if not (brace and line.startswith("!")):
        return line
    kept = [each for each in operands.removesuffix("}").split(", ") if each not in nodes]
    return f"{head}!{{{', '.join(kept)}}}"


def _reachable(text: Text) -> Text:
    """``text`` without numbered metadata that nothing refers to."""
    definitions, roots = _definitions(text)
    found = set(_order(definitions, roots))
    return text.keep(lambda line: not (match := _DEFINITION.fullmatch(line)) or match[1] in found)


def _definitions(text: Text) -> tuple[dict[str, str], list[str]]:
    """Numbered nodes -> their contents, and the nodes used elsewhere in order of first use."""
    definitions: dict[str, str] = {}
    rest = []
    for line in text.lines:
        match = _DEFINITION.fullmatch(line)
        if match is None:
            rest.append(line)
        elif match[1] in definitions:
            raise CannotParse(f"{match[1]} is defined twice")
        else:
            definitions[match[1]] = match[2]
    return definitions, _nodes("\n".join(rest))


def _nodes(text: str) -> list[str]:
    return [each for each in dict.fromkeys(_NODE.findall(text)) if not each.startswith('"')]


def _order(definitions: dict[str, str], roots: Iterable[str]) -> list[str]:
    """Nodes reachable from ``roots``, in order of first visit."""
    order: dict[str, None] = {}
    pending = list(reversed(list(roots)))
    while pending:
        node = pending.pop()
        if node not in order:
            if node not in definitions:
                raise CannotParse(f"{node} is used but not defined")
            order[node] = None
            pending += reversed(_nodes(definitions[node]))
    return list(order)


@rule("llvm.metadata-numbers", "llir")
def metadata_numbers(text: Text) -> Text:
    """The numbers of metadata nodes and the order of their definitions.

    Nodes are numbered by first use from functions and named metadata; contents, and which
    node is used where, are still compared.
    """
    definitions, roots = _definitions(text)
    order = _order(definitions, roots)
    order += [node for node in definitions if node not in set(order)]
    table = {node: f"!{k}" for k, node in enumerate(order)}
    place = {node: k for k, node in enumerate(order)}
    heads, nodes = [], []
    for i, line in enumerate(text.lines):
        match = _DEFINITION.fullmatch(line)
        if match:
            nodes.append((place[match[1]], i))
        else:
            heads.append(i)
    text = text.rewrite(substitute(_NODE, str(text), Known(table)))
    return text.pick([*heads, *(i for _, i in sorted(nodes))])


# --- declarations and symbols -------------------------------------------------------------


@rule("llvm.declaration-order", "llir")
def declaration_order(text: Text) -> Text:
    """Where among the functions a `declare` stands: declarations are sorted and put last."""
    heads: list[int] = []
    declarations: list[int] = []
    for i, line in enumerate(text.lines):
        (declarations if line.startswith("declare ") else heads).append(i)
    return text.pick([*heads, *sorted(declarations, key=lambda i: text.lines[i])])


_SYMBOL = rf"@{STRING}|@[\w$.-]+"
_SYMBOLS = re.compile(rf"({_SYMBOL}|{STRING})")
_INTERNAL = re.compile(rf"define (?:internal|private) [^@]*({_SYMBOL})\(")


@rule("llvm.private-symbols", "llir")
def private_symbols(text: Text) -> Text:
    """The names of internal functions, which fork and upstream mangle differently.

    No other module can refer to them; they are renamed in order of definition, and calls follow.
    """
    names = Renaming(lambda k: f"@private.{k}")
    matches = [_INTERNAL.match(line) for line in text.lines if line.startswith("define ")]
    table = {match[1]: names[match[1]] for match in matches if match}
    return text.rewrite(substitute(_SYMBOLS, str(text), Known(table))) if table else text


# --- values -------------------------------------------------------------------------------

_LOCAL = tokens(rf"%(?:[\w$.-]+|{STRING})")
_LABEL = re.compile(rf"(?m)^([\w$.-]+|{STRING}):")
_TYPE = re.compile(rf"(%(?:[\w$.-]+|{STRING})) = type ")


@rule("llvm.ssa-names", "llir")
def ssa_names(text: Text) -> Text:
    """The names of values and basic blocks (`%12`, `%.lr.ph`, `%indvars.iv`).

    They are numbered by first use, function by function; which instruction made an operand is
    still compared.
    """
    types = {match[1]: match[1] for line in text.lines if (match := _TYPE.match(line))}
    counter = [0]
    done: list[str] = []
    start = 0
    for first, last in _functions(text.lines):
        done += text.lines[start:first]
        body = _LABEL.sub(r"%\1:", "\n".join(text.lines[first:last]))
        done.append(substitute(_LOCAL, body, _locals(types, counter)))
        start = last
    return text.rewrite("\n".join([*done, *text.lines[start:]]))


def _locals(types: dict[str, str], counter: list[int]) -> Renaming:
    base = counter[0]

    def name(k: int) -> str:
        counter[0] = base + k + 1
        return f"%{base + k}"

    names = Renaming(name)
    names.update(types)
    return names


def _functions(lines: tuple[str, ...]) -> list[tuple[int, int]]:
    """The lines of every function, from `define` through its closing brace."""
    found, start = [], None
    for i, line in enumerate(lines):
        if line.startswith("define "):
            if start is not None:
                raise CannotParse("a function inside a function")
            start = i
        elif line == "}" and start is not None:
            found.append((start, i + 1))
            start = None
    if start is not None:
        raise CannotParse("a function without its end")
    return found


# --- reading ------------------------------------------------------------------------------

_DEFINE = re.compile(rf"define [^@]*({_SYMBOL})\(")
_LABEL_LINE = re.compile(r"%?[\w$.-]+(?=:)")


def _regions(lines: tuple[str, ...]) -> list[str]:
    """`@function` with its basic block; globals, declarations and metadata are in `module`."""
    found, function, block = [], "", ""
    for line in lines:
        if match := _DEFINE.match(line):
            function, block = match[1], ""
        elif function and (label := _LABEL_LINE.match(line)):
            block = f" / {label[0]}"
        found.append(function + block if function else "module")
        if line == "}":
            function = ""
    return found


FORMAT = Format(("llir",), Text.decode, re.compile(r"%[0-9]+|![0-9]+"), _regions)
