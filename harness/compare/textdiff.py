"""Where two normal forms differ, told apart from mere shifts in numbering.

Canonical names are numbers (`%12`), so one more value shifts all numbers after it. The forms
are therefore aligned with all names erased, short ones by difflib, others by `git diff` in a
subprocess (milliseconds where difflib takes seconds), and then the names on aligned lines must
correspond one to one.
"""

from __future__ import annotations

import difflib
import functools
import hashlib
import itertools
import operator
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from harness.compare.text import Blank, substitute, tokens
from harness.errors import HarnessError

_GIT = (
    "git",
    "diff",
    "--no-index",
    "--histogram",
    "--unified=0",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--text",
)
_SMALL = 200 * 200  # lines of one side times lines of the other: about 10 ms of difflib
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class Span(NamedTuple):
    """A differing region: lines ``left[left_start:left_end]`` against the right's."""

    left_start: int
    left_end: int
    right_start: int
    right_end: int

    @property
    def size(self) -> int:
        """Differing lines; a changed line counts once."""
        return max(self.left_end - self.left_start, self.right_end - self.right_start)


class _Side:
    """Lines, the same lines with each name erased, and the names in order.

    ``starts[i]`` is the place in ``names`` of the first name of line ``i``.
    """

    def __init__(self, lines: Sequence[str], name: re.Pattern[str]) -> None:
        self.lines = lines
        parts = name.split("\n".join(lines))
        found = parts[1::2]
        self.names = [each for each in found if each[0] != '"']
        parts[1::2] = map(Blank(_ERASED).__getitem__, found)
        self.erased = "".join(parts).split("\n") if lines else []
        counts = (line.count(_ERASED) for line in self.erased)
        self.starts = list(itertools.accumulate(counts, initial=0))

    def names_of(self, start: int, end: int) -> list[str]:
        return self.names[self.starts[start] : self.starts[end]]

    def introductions(self) -> dict[str, str]:
        """Name -> the erased line on which it comes first."""
        found: dict[str, str] = {}
        for i, erased in enumerate(self.erased):
            for name in self.names_of(i, i + 1):
                found.setdefault(name, erased)
        return found


@functools.lru_cache(maxsize=8)  # the same normal form is compared several times in a row
def _side(lines: tuple[str, ...], name: re.Pattern[str]) -> _Side:
    return _Side(lines, name)


_ERASED = "\0"


class Difference:
    """The differing ``spans`` of two sequences of lines, in order.

    ``volatile`` matches the names that are erased for aligning. There are no spans exactly
    when one renaming, one to one, makes the sides equal.
    """

    def __init__(
        self, left: Sequence[str], right: Sequence[str], volatile: re.Pattern[str]
    ) -> None:
        self._name = tokens(volatile.pattern)
        self._left, self._right = _side(tuple(left), self._name), _side(tuple(right), self._name)
        self._forward: dict[str, str] = {}
        self._backward: dict[str, str] = {}
        self.spans = tuple(_merge(self._wired(_align(self._left.erased, self._right.erased))))
        for span in self.spans:
            self._pair(span)

    def _wired(self, spans: list[Span]) -> Iterator[Span]:
        """``spans``, and lines aligned between them whose names do not correspond."""
        ends = len(self._left.lines), len(self._right.lines)
        i = j = 0
        for span in [*spans, Span(ends[0], ends[0], ends[1], ends[1])]:
            size = span.left_start - i
            if not self._correspond(i, j, size):
                for k in range(size):
                    if not self._correspond(i + k, j + k, 1):
                        yield Span(i + k, i + k + 1, j + k, j + k + 1)
            if span.size:
                yield span
            i, j = span.left_end, span.right_end

    def _correspond(self, i: int, j: int, size: int) -> bool:
        """Do the names of ``size`` aligned lines correspond to what is known so far?

        Pairs of new names are learnt, up to the first conflict.
        """
        forward, backward = self._forward, self._backward
        pairs = self._left.names_of(i, i + size), self._right.names_of(j, j + size)
        for a, b in dict.fromkeys(zip(*pairs, strict=True)):
            if a in forward or b in backward:
                if forward.get(a) != b or backward.get(b) != a:
                    return False
            else:
                forward[a], backward[b] = b, a
        return True

    def _pair(self, span: Span) -> None:
        """Let names that nothing is known about correspond, where lines were changed in place."""
        if span.left_end - span.left_start != span.right_end - span.right_start:
            return
        for i in range(span.size):
            left = self._left.names_of(span.left_start + i, span.left_start + i + 1)
            right = self._right.names_of(span.right_start + i, span.right_start + i + 1)
            if len(left) == len(right):
                for a, b in zip(left, right, strict=True):
                    if a not in self._forward and b not in self._backward:
                        self._forward[a], self._backward[b] = b, a

    @property
    def size(self) -> int:
        """The number of differing lines; a changed line counts once."""
        return sum(span.size for span in self.spans)

    def translated(self, lines: Sequence[str]) -> tuple[str, ...]:
        """Lines of the right side, with the left side's names; other names get a prime."""
        names = _Translation(self._backward)
        return tuple(substitute(self._name, line, names) for line in lines)

    def fingerprint(self) -> str:
        """16 hex digits that identify the difference, and not where it lies.

        They cover the removed and added lines. A name is written as its place within the span
        and the erased line that introduces it, so unrelated code may come and go, but another
        operand or another constant gives another fingerprint.
        """
        introduced = self._left.introductions(), self._right.introductions()
        hashed = hashlib.sha256()
        for span in self.spans:
            places: dict[tuple[int, str], int] = {}

            def describe(side: int, name: str, places: dict[tuple[int, str], int] = places) -> str:
                if name.startswith('"'):
                    return name
                if side == 1 and name in self._backward:
                    side, name = 0, self._backward[name]
                place = places.setdefault((side, name), len(places))
                return f"<{place}: {introduced[side][name]}>"

            for side, sign, lines in (
                (0, "-", self._left.lines[span.left_start : span.left_end]),
                (1, "+", self._right.lines[span.right_start : span.right_end]),
            ):
                for line in lines:
                    parts = self._name.split(line)
                    parts[1::2] = [describe(side, name) for name in parts[1::2]]
                    hashed.update(f"{sign}{''.join(parts)}\n".encode())
            hashed.update(b"\0")
        return hashed.hexdigest()[:16]


class _Translation(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return key if key.startswith('"') else f"{key}'"


def _merge(spans: Iterator[Span]) -> Iterator[Span]:
    """Neighbouring spans as one."""
    last: Span | None = None
    for span in spans:
        if last and last.left_end == span.left_start and last.right_end == span.right_start:
            last = Span(last.left_start, span.left_end, last.right_start, span.right_end)
        else:
            if last:
                yield last
            last = span
    if last:
        yield last


def _align(left: Sequence[str], right: Sequence[str]) -> list[Span]:
    """The spans between the longest runs of equal lines."""
    first = _common(left, right)
    last = _common(left[first:][::-1], right[first:][::-1])
    a, b = left[first : len(left) - last], right[first : len(right) - last]
    if not a or not b:
        spans = [Span(0, len(a), 0, len(b))]
    else:
        spans = _difflib(a, b) if len(a) * len(b) <= _SMALL else _git_diff(a, b)
    return [Span(*(end + first for end in span)) for span in spans if span.size]


def _difflib(left: Sequence[str], right: Sequence[str]) -> list[Span]:
    """The differing spans of two short sequences: faster than starting a process."""
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    return [Span(i, j, k, m) for tag, i, j, k, m in matcher.get_opcodes() if tag != "equal"]


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    """How many lines the two have in common at the start."""
    same = [*map(operator.eq, left, right)]
    return same.index(False) if False in same else len(same)


class _Numbers(dict[str, str]):
    """Line -> a number of its own."""

    def __missing__(self, line: str) -> str:
        self[line] = number = str(len(self))
        return number


def _git_diff(left: Sequence[str], right: Sequence[str]) -> list[Span]:
    """Spans by `git diff`, which sees a number for each distinct line."""
    numbers = _Numbers()
    with tempfile.TemporaryDirectory(prefix="tlx-equiv-diff-") as folder:
        for name, lines in (("left", left), ("right", right)):
            Path(folder, name).write_text("\n".join([*map(numbers.__getitem__, lines), ""]))
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CEILING_DIRECTORIES": folder,
        }
        command = [*_GIT, "left", "right"]
        try:
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True)
        except FileNotFoundError as error:
            raise HarnessError("git", "not found on PATH", "install git 2.25 or newer") from error
    if done.returncode not in (0, 1):
        raise HarnessError(
            "git diff --no-index",
            f"failed with status {done.returncode}: {done.stderr.decode(errors='replace')}",
            "install git 2.25 or newer",
        )
    return [_span(match) for match in _HUNK.finditer(done.stdout)]


def _span(match: re.Match[bytes]) -> Span:
    """`@@ -start,count +start,count @@`: lines from 1; with a count of 0, the line before."""
    ends = []
    for start, count in (match.group(1, 2), match.group(3, 4)):
        size = 1 if count is None else int(count)
        begin = int(start) - (1 if size else 0)
        ends += [begin, begin + size]
    return Span(*ends)
