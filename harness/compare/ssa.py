"""Numbering of MLIR's SSA values and blocks, region by region."""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.compare.text import CannotParse, Text, substitute, tokens

_NAME = r"%[\w$.-]+|\^[\w$.-]+"
_NAMES = tokens(_NAME)
# What starts a line is searched for with the line break before it: several times faster than "^".
_RESULTS = re.compile(r"\n *(%[\w$.-]+(?::\d+)?(?:, %[\w$.-]+(?::\d+)?)*) = ")
_BLOCK = re.compile(r"\n *(\^[\w$.-]+)((?:\(.*\))?:(?: *//.*)?)(?=\n|$)")
# The printer's comment on a block's predecessors. It repeats what the branches say, and may name
# an entry block, which has no label of its own.
_PREDECESSORS = re.compile(r"(?<=:)  // (?:no predecessors|pred: .*|\d+ preds: .*)$")
_ARGUMENT = re.compile(rf'("(?:[^"\\]|\\.)*")|((?:{_NAME})(?=: | = ))')


class _Scope(dict[str, str]):
    """Names of one region -> canonical names; others are looked up in the enclosing regions.

    A name that is used before its definition gets its number at once and must be defined
    before the region ends.
    """

    def __init__(self, parent: _Scope | None, counter: list[int]) -> None:
        super().__init__()
        self._parent = parent
        self._counter = counter
        self._own: dict[str, str] = {}
        self._undefined: set[str] = set()

    def define_all(self, names: list[str]) -> None:
        """``define`` each, in order."""
        if len(set(names)) < len(names) or not self._own.keys().isdisjoint(names):
            for name in names:
                self.define(name)
            return
        first = self._counter[0]
        self._counter[0] += len(names)
        new = {name: f"{name[0]}{first + k}" for k, name in enumerate(names)}
        self._own |= new
        self |= new

    def define(self, name: str) -> None:
        if name in self._undefined:
            self._undefined.discard(name)
        elif name in self._own:
            raise CannotParse(f"{name} is defined twice in one region")
        else:
            self[name] = self._own[name] = self._new(name)

    def close(self) -> None:
        if self._undefined:
            raise CannotParse(f"{min(self._undefined)} is used but not defined")

    def __missing__(self, name: str) -> str:
        if name.startswith('"'):
            return name
        found = self._outer(name)
        if found is None:
            found = self._own[name] = self._new(name)
            self._undefined.add(name)
        self[name] = found
        return found

    def _outer(self, name: str) -> str | None:
        scope = self._parent
        while scope is not None:
            if name in scope._own:
                return scope._own[name]
            scope = scope._parent
        return None

    def _new(self, name: str) -> str:
        self._counter[0] += 1
        return f"{name[0]}{self._counter[0] - 1}"


def number_values(text: Text) -> Text:
    """``text`` with values and blocks numbered by definition; no number is used twice.

    Raises CannotParse where a name is not defined exactly once in its region.
    """
    scope = _Scope(None, [0])
    stack: list[_Scope] = []
    done: list[str] = []
    lines = text.lines
    if "//" in str(text):
        lines = tuple(_PREDECESSORS.sub("", line) if "//" in line else line for line in lines)
    start = 0  # of the lines not yet renamed
    bounds = [i for i, line in enumerate(lines) if line[-1:] == "{" or line.lstrip()[:1] == "}"]
    for i in bounds:
        line = lines[i]
        if start < i:
            done.append(_rename_run(lines[start:i], scope))
        start = i
        if line.lstrip().startswith("}"):
            scope.close()
            if not stack:
                raise CannotParse("a } without its {")
            scope = stack.pop()
        if line.endswith("{"):
            stack.append(scope)
            inner = _Scope(scope, scope._counter)
            done.append(_rename_header(line, scope, inner))
            scope = inner
            start = i + 1
    if start < len(lines):
        done.append(_rename_run(lines[start:], scope))
    scope.close()
    if stack:
        raise CannotParse("a { without its }")
    return text.rewrite("\n".join(done))


def _rename_run(lines: Sequence[str], scope: _Scope) -> str:
    """Lines of one region without a region inside."""
    text = "\n".join(["", *lines])
    if "^" in text:
        for match in _BLOCK.finditer(text):
            scope.define(match[1])
            _define_arguments(match[2], scope)
    scope.define_all(_names(_RESULTS.findall(text)))
    return substitute(_NAMES, text, scope)[1:]


def _rename_header(line: str, scope: _Scope, inner: _Scope) -> str:
    """A line that opens a region: results belong outside, block arguments inside."""
    match = _RESULTS.match(f"\n{line}")
    head = match[0][1:] if match else ""
    if match:
        scope.define_all(_names([match[1]]))
    _define_arguments(line[len(head) :], inner)
    return substitute(_NAMES, head, scope) + substitute(_NAMES, line[len(head) :], inner)


def _names(results: list[str]) -> list[str]:
    """The values that operations define: ``["%0", "%1:2, %2"]`` are %0, %1 and %2."""
    found: list[str] = []
    for each in results:
        if "," in each or ":" in each:
            found += (result.partition(":")[0] for result in each.split(", "))
        else:
            found.append(each)
    return found


def _define_arguments(text: str, scope: _Scope) -> None:
    for match in _ARGUMENT.finditer(text):
        if match[2]:
            scope.define(match[2])
