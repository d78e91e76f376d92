"""Rules for MLIR text as ``module.str_nodebug()`` prints it, and for raw stage files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable

from harness.compare.rules import RULES, Rule, rule
from harness.compare.ssa import number_values
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

_STAGES = ("ttir", "ttgir")

# --- debug locations ----------------------------------------------------------------------

_LOCATION_ALIAS = re.compile(r"#loc\d* = loc\(")
_SIMPLE_LOCATION = tokens(r" loc\(#loc\d*\)")
_PARENTHESIS = re.compile(rf"{STRING}|[()]")


@rule("mlir.debug-locations", *_STAGES)
def debug_locations(text: Text) -> Text:
    """`loc(...)` and `#loc` lines, which raw stage files carry and `str_nodebug()` does not.

    They name source lines. Only debug information is made from them, and that is compared
    apart from code in every later stage.
    """
    if " loc(" not in str(text):
        return text
    text = text.keep(lambda line: not _LOCATION_ALIAS.match(line))
    text = text.rewrite(substitute(_SIMPLE_LOCATION, str(text), Blank()))
    return text.each(_without_locations, containing=" loc(")


def _without_locations(line: str) -> str:
    """Remove written-out locations, e.g. `loc("name"(#loc3))` and `loc(callsite(... at ...))`."""
    kept, start, depth = [], 0, 0
    for match in _PARENTHESIS.finditer(line):
        if depth == 0 and match[0] == "(" and line.endswith(" loc", 0, match.start()):
            kept.append(line[start : match.start() - len(" loc")])
            depth = 1
        elif depth and match[0] in "()":
            depth += 1 if match[0] == "(" else -1
            start = match.end()
    if depth:
        raise CannotParse("a loc( without its )")
    return "".join([*kept, line[start:]])


# --- module attributes --------------------------------------------------------------------

_MODULE = re.compile(r"module(?: @\S+)?(?: attributes \{(.*)\})? \{")
_ITEM = re.compile(rf"(?:{STRING}|<[^<>]*>|\[[^\[\]]*\]|[^,])+")

_MARKER = (
    "The attribute is a mark that the fork leaves on the module: no operation, and absent from "
    "upstream's IR. It may steer a pass that runs later; what that pass then does is in the IR "
    "after it, which is compared. Measured: the fork's back end makes the same bytes from its "
    "TTGIR with and without the attribute. Any other value stays a difference."
)
_NO_CLUSTER = (
    "A cluster of one CTA along an axis is what a kernel without the attribute is launched "
    "with. Measured: the fork's back end makes the same bytes from its TTGIR with and without "
    "the attribute. Any other size stays a difference."
)
_EARLY = (
    "At the end of `make_ttir` one side has already recorded what the other records at the start "
    "of its conversion to TTGIR. Where both have recorded it, the values must be equal; "
    "at ttgir the attribute is on both sides and compared as it is."
)

_NEUTRAL = (
    ("tlx.has_tlx_ops", "true", _STAGES, _MARKER),
    ("tlx.has_explicit_local_mem_access", "true", _STAGES, _MARKER),
    ("tlx.has_warp_spec_ops", "true", _STAGES, _MARKER),
    ("ttg.min_reg_auto_ws", "24 : i32", _STAGES, _MARKER),
    ("ttg.early_tma_store_lowering", "true", _STAGES, _MARKER),
    ("ttg.cluster-dim-x", "1 : i32", _STAGES, _NO_CLUSTER),
    ("ttg.cluster-dim-y", "1 : i32", _STAGES, _NO_CLUSTER),
    ("ttg.cluster-dim-z", "1 : i32", _STAGES, _NO_CLUSTER),
    ("ttg.num-ctas", "1 : i32", ("ttir",), _EARLY),
    ("ttg.num-warps", "[0-9]+ : i32", ("ttir",), _EARLY),
    ("ttg.threads-per-warp", "[0-9]+ : i32", ("ttir",), _EARLY),
    ("ttg.target", '"(?:cuda:[0-9]+|hip:gfx[0-9a-f]+)"', ("ttir",), _EARLY),
)


def _without(name: str, value: str) -> Callable[[Text], Text]:
    """A rule's `apply` that removes the attribute ``name`` where its value is ``value``."""
    attribute = re.compile(f'(?:{re.escape(name)}|"{re.escape(name)}") = {value}')

    def apply(text: Text) -> Text:
        i, items = _module_items(text)
        kept = [item for item in items if not attribute.fullmatch(item)]
        if len(kept) == len(items):
            return text
        head = f"module attributes {{{', '.join(kept)}}} {{" if kept else "module {"
        return Text((*text.lines[:i], head, *text.lines[i + 1 :]), text.origin)

    return apply


def _module_items(text: Text) -> tuple[int, list[str]]:
    """Where the module starts, and the items of its attribute dictionary."""
    for i, line in enumerate(text.lines):
        match = _MODULE.fullmatch(line)
        if match:
            return i, [item.strip() for item in _ITEM.findall(match[1] or "")]
        if line and line[0] not in "#!":
            break
    raise CannotParse("no module at the start")


for _name, _value, _stages, _why in _NEUTRAL:
    RULES.add(
        Rule(
            f"mlir.module-attr:{_name}",
            _stages,
            _without(_name, _value),
            f"The module attribute `{_name}` of value `{_value}`. {_why}",
        )
    )


def contradicted(left: Text, right: Text) -> set[str]:
    """The rules of attributes recorded early, where both sides have recorded other values."""
    old, new = _recorded(left), _recorded(right)
    return {
        f"mlir.module-attr:{name}"
        for name in old.keys() & new.keys() & {name for name, *_, why in _NEUTRAL if why is _EARLY}
        if old[name] != new[name]
    }


def _recorded(text: Text) -> dict[str, str]:
    try:
        items = [item.partition(" = ") for item in _module_items(text)[1]]
    except CannotParse:
        return {}  # the rules say so
    return {name.strip('"'): value for name, _, value in items}


# --- spellings ----------------------------------------------------------------------------

_UNORDERED = 'reduction_ordering = "unordered"'
_REDUCE = re.compile(r'(.*"tt\.reduce"\([^()]*\) <\{)(.*?)(\}> .*)')


@rule("mlir.reduction-ordering", *_STAGES)
def reduction_ordering(text: Text) -> Text:
    """`reduction_ordering = "unordered"` on `tt.reduce`, an attribute that only the fork has.

    The value says that no order is asked for, as an operation without the attribute does.
    Measured: the fork's back end makes the same PTX and cubin with and without it. (The two
    back ends do reduce in different orders, with and without it; that is seen in llir.) Every
    other value, such as "inner_tree", stays a difference.
    """

    def without(line: str) -> str:
        match = _REDUCE.fullmatch(line)
        if not match:
            return line
        items = [item for item in match[2].split(", ") if item != _UNORDERED]
        return match[1] + ", ".join(items) + match[3]

    return text.each(without, containing="reduction_ordering")


_NO_SCRATCH = r"ttg\.(?:global|profile)_scratch_memory_(?:alignment = 1|size = 0) : i32"
_SCRATCH = re.compile(rf", {_NO_SCRATCH}(?=[,}}])|(?<=\{{)(?:{_NO_SCRATCH}(?:, )?)+")


@rule("mlir.no-scratch-memory", *_STAGES)
def no_scratch_memory(text: Text) -> Text:
    """`ttg.global_scratch_memory_size = 0` and its kin, with an alignment of 1.

    The fork writes down that a kernel needs no scratch memory; upstream writes only what is
    needed. A size other than 0 or an alignment other than 1 stays a difference.
    """
    return text.each(lambda line: _SCRATCH.sub("", line), containing="scratch_memory")


_DESCRIPTOR = "!tt.tensordesc<tensor<"
_BRACKET = re.compile(rf"{STRING}|->|[<>]")


@rule("mlir.tensordesc-type", *_STAGES)
def tensordesc_type(text: Text) -> Text:
    """The spelling of descriptor types: `!tt.tensordesc<tensor<S>>` in the fork,
    `!tt.tensordesc<S>` upstream.

    Both hold the same shape, element type and layout, which stay in the text.
    """
    return text.each(_without_tensor, containing=_DESCRIPTOR)


def _without_tensor(line: str) -> str:
    head, *rest = line.split(_DESCRIPTOR)
    parts = [head]
    for each in rest:
        depth, start = 1, 0
        for match in _BRACKET.finditer(each):
            depth += {"<": 1, ">": -1}.get(match[0], 0)
            if depth == 0:
                start = match.end()
                break
        if not each.startswith(">", start):
            raise CannotParse("a tensordesc type that holds more than a tensor")
        parts.append(f"{each[: start - 1]}{each[start:]}")
    return "!tt.tensordesc<".join(parts)


_SYMBOL = rf"@{STRING}|@[\w$.-]+"
_SYMBOLS = re.compile(rf"({_SYMBOL}|{STRING})")
_PRIVATE = re.compile(rf"\s*tt\.func private ({_SYMBOL})\(.* \{{")


@rule("mlir.private-symbols", *_STAGES)
def private_symbols(text: Text) -> Text:
    """The names of private functions, which fork and upstream mangle differently.

    A private function that has a body is only reached by calls inside the module, and the
    calls are renamed with it, in order of definition.
    """
    if "func private" not in str(text):
        return text
    names = Renaming(lambda k: f"@private.{k}")
    matches = [_PRIVATE.fullmatch(line) for line in text.lines if "func private" in line]
    table = {match[1]: names[match[1]] for match in matches if match}
    if not table:
        return text
    return text.each(
        lambda line: _SYMBOLS.sub(lambda match: table.get(match[0], match[0]), line),
        containing="@",
    )


# --- attribute aliases --------------------------------------------------------------------

_ALIAS = r"#[A-Za-z_]\w*(?![\w.])|![A-Za-z_]\w*(?![\w.])"
_ALIASES = tokens(_ALIAS)
_ALIAS_LINE = re.compile(rf"({_ALIAS}) = (.*)")
_MNEMONIC = re.compile(r"[#!](?:\w+\.)*(\w+)")


@rule("mlir.alias-names", *_STAGES)
def alias_names(text: Text) -> Text:
    """The names and the order of attribute aliases (`#blocked1`, `#shared`), also nested ones.

    The printer makes them up. Each is renamed after its written-out contents, so two equal
    names mean equal layouts, and the definitions stay in the text and are compared.
    """
    names = _Aliases()
    heads, body = [], []
    for i, line in enumerate(text.lines):
        match = _ALIAS_LINE.fullmatch(line) if line.startswith(("#", "!")) else None
        if match:
            names.define(match[1], match[2])
            heads.append(i)
        else:
            body.append(i)
    if not heads:
        return text
    text = text.rewrite(substitute(_ALIASES, str(text), names))
    return text.pick([*sorted(heads, key=lambda i: text.lines[i]), *body])


class _Aliases(Known):
    """Alias -> name after its contents."""

    def __init__(self) -> None:
        super().__init__()
        self._contents = Known()

    def define(self, alias: str, definition: str) -> None:
        if alias in self._contents:
            raise CannotParse(f"the alias {alias} is defined twice")
        contents = substitute(_ALIASES, definition, self._contents)
        mnemonic = _MNEMONIC.match(contents)
        digest = hashlib.sha256(contents.encode()).hexdigest()[:12]
        self._contents[alias] = contents
        self[alias] = f"{alias[0]}{mnemonic[1] if mnemonic else 'alias'}.{digest}"


# --- constants and values -----------------------------------------------------------------

_CONSTANT = re.compile(r"(\s*)%[\w$.-]+ = arith\.constant (.*)")
_DIGEST = re.compile(r"\.[0-9a-f]{12}\b")


@rule("mlir.constant-order", *_STAGES)
def constant_order(text: Text) -> Text:
    """The order of neighbouring `arith.constant` operations.

    Constants have no operands and no effects, so neighbours commute. Each run is sorted by the
    constants' contents; their uses refer to them by name and follow.
    """
    if "arith.constant" not in str(text):
        return text
    matches = {
        i: match
        for i, line in enumerate(text.lines)
        if "arith.constant" in line and (match := _CONSTANT.fullmatch(line))
    }
    if not matches:
        return text
    order = list(range(len(text.lines)))
    for start in [i for i in matches if i - 1 not in matches]:
        end = start
        while end in matches and matches[end][1] == matches[start][1]:
            end += 1
        # Contents without the aliases' digests first: a layout that differs on the two sides
        # then moves no constant, and the difference stays where it is.
        order[start:end] = sorted(
            range(start, end), key=lambda i: (_DIGEST.sub("", matches[i][2]), matches[i][2])
        )
    return text.pick(order)


@rule("mlir.ssa-names", *_STAGES)
def ssa_names(text: Text) -> Text:
    """The names of SSA values and blocks (`%c0_i32`, `%cst_1`, `%rows_2`, `%12`, `^bb1`).

    The printer makes them up from constants, locations and a counter. They are numbered by
    definition, region by region, so the operation that made each operand is still compared.
    """
    return number_values(text)


# --- reading ------------------------------------------------------------------------------

_FUNCTION = re.compile(rf"  tt\.func \w+ ({_SYMBOL})\(")
_PARTITION = re.compile(r"(\s*)(default|partition\d+(?=\()).* ?\{")


def _regions(lines: tuple[str, ...]) -> list[str]:
    """`@function` or `@function / partition0`; aliases and attributes are in `module`."""
    found, function, partition, indent = [], "", "", ""
    for line in lines:
        if match := _FUNCTION.match(line):
            function, partition = match[1], ""
        elif match := _PARTITION.fullmatch(line):
            indent, partition = match[1], f" / {match[2]}"
        found.append(function + partition or "module")
        if line == "  }":
            function = ""
        elif partition and line.startswith(f"{indent}}}"):
            partition = ""
    return found


FORMAT = Format(_STAGES, Text.decode, re.compile(r"%\d+|\^\d+"), _regions, contradicted)
