"""Numbering of MLIR's SSA values and blocks, region by region."""

from __future__ import annotations

import re

from harness.compare.text import CannotParse, Text, substitute, tokens

_NAME = r"%[\w$.-]+|\^[\w$.-]+"
_NAMES = tokens(_NAME)
_RESULTS = re.compile(r"(?m)^ *(%[\w$.-]+(?::\d+)?(?:, %[\w$.-]+(?::\d+)?)*) = ")
_BLOCK = re.compile(r"(?m)^ *(\^[\w$.-]+)((?:\(.*\))?:(?: *//.*)?)$")
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
    run: list[str] = []

    def flush() -> None:
        if run:
            done.append(_rename_run(run, scope))
            run.clear()

    for line in text.lines:
        if "//" in line:
            line = _PREDECESSORS.sub("", line)
        closes, opens = line.lstrip().startswith("}"), line.endswith("{")
        if closes:
            flush()
            scope.close()
            if not stack:
                raise CannotParse("a } without its {")
            scope = stack.pop()
        if opens:
            flush()
            stack.append(scope)
            inner = _Scope(scope, scope._counter)
            done.append(_rename_header(line, scope, inner))
            scope = inner
        else:
            run.append(line)
    flush()
    scope.close()
    if stack:
        raise CannotParse("a { without its }")
    return text.rewrite("\n".join(done))


def _rename_run(lines: list[str], scope: _Scope) -> str:
    """Lines of one region without a region inside."""
    text = "\n".join(lines)
    for match in _BLOCK.finditer(text):
        scope.define(match[1])
        _define_arguments(match[2], scope)
    for results in _RESULTS.findall(text):
        _define_results(results, scope)
    return substitute(_NAMES, text, scope)


def _rename_header(line: str, scope: _Scope, inner: _Scope) -> str:
    """A line that opens a region: results belong outside, block arguments inside."""
    match = _RESULTS.match(line)
    head = match[0] if match else ""
    if match:
        _define_results(match[1], scope)
    _define_arguments(line[len(head) :], inner)
    return substitute(_NAMES, head, scope) + substitute(_NAMES, line[len(head) :], inner)


def _define_results(results: str, scope: _Scope) -> None:
    for result in results.split(", "):
        scope.define(result.partition(":")[0])


def _define_arguments(text: str, scope: _Scope) -> None:
    for match in _ARGUMENT.finditer(text):
        if match[2]:
            scope.define(match[2])
