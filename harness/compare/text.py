"""The form in which every artifact is compared: lines that remember where they came from."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Collection, Iterable

STRING = r'"(?:[^"\\]|\\.)*"'
"""A regular expression for a quoted string, as MLIR, LLVM IR and assemblers print it."""

NOTHING = re.compile(r"(?!)")
"""A pattern that matches nowhere: a format without volatile names."""


class CannotParse(Exception):
    """The input is not what a rule or a format expects, so nothing is known to be equal."""


@dataclasses.dataclass(frozen=True)
class Text:
    """Lines of an artifact. ``origin[i]`` is the line (from 1) of ``lines[i]`` in the artifact."""

    lines: tuple[str, ...]
    origin: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> Text:
        """The lines of ``text``; after a last line break there is an empty one."""
        lines = text.split("\n")
        return cls(tuple(lines), tuple(range(1, len(lines) + 1)))

    @classmethod
    def decode(cls, data: bytes) -> Text:
        """The lines of UTF-8 bytes; raises CannotParse if they are not UTF-8."""
        try:
            return cls.of(data.decode())
        except UnicodeDecodeError as error:
            raise CannotParse(f"not UTF-8 text (byte {error.start})") from error

    def __str__(self) -> str:
        return self._joined

    @functools.cached_property
    def _joined(self) -> str:
        return "\n".join(self.lines)

    def keep(self, wanted: Callable[[str], object]) -> Text:
        """The lines for which ``wanted`` holds."""
        kept = [i for i, line in enumerate(self.lines) if wanted(line)]
        return self if len(kept) == len(self.lines) else self.pick(kept)

    def pick(self, indices: Iterable[int]) -> Text:
        """The lines at ``indices``, in that order."""
        order = tuple(indices)
        if order == tuple(range(len(self.lines))):
            return self
        return Text(
            tuple(self.lines[i] for i in order),
            tuple(self.origin[i] for i in order),
        )

    def rewrite(self, text: str) -> Text:
        """The same number of lines with other contents."""
        lines = tuple(text.split("\n"))
        if len(lines) != len(self.origin):
            raise CannotParse("a line break inside a rewritten token")
        return Text(lines, self.origin)

    def each(self, change: Callable[[str], str], containing: str = "") -> Text:
        """Every line that contains a certain text changed by ``change``."""
        if containing not in self._joined:
            return self
        lines = (change(line) if containing in line else line for line in self.lines)
        return Text(tuple(lines), self.origin)


@dataclasses.dataclass(frozen=True)
class Format:
    """How the artifacts of some stages are read.

    ``volatile`` matches names that a canonical form numbers (SSA values, registers, labels), so
    that a difference can be told apart from a shift in numbering. ``regions`` names, for every
    line of a normal form, the function, partition, block or section that it lies in.
    ``contradicted`` names the rules that must not be used on two forms, since what they take
    from both says different things.
    """

    stages: tuple[str, ...]
    load: Callable[[bytes], Text]
    volatile: re.Pattern[str]
    regions: Callable[[tuple[str, ...]], list[str]]
    contradicted: Callable[[Text, Text], Collection[str]] = lambda left, right: ()


class Renaming(dict[str, str]):
    """Names in order of first use: ``name(k)`` for the k-th new key; other text is kept.

    Made for ``substitute``: a key that starts with a double quote is a string and stays.
    """

    def __init__(self, name: Callable[[int], str]) -> None:
        super().__init__()
        self._name = name
        self.count = 0

    def __missing__(self, key: str) -> str:
        if key.startswith('"'):
            return key
        new = self[key] = self._name(self.count)
        self.count += 1
        return new


class Blank(dict[str, str]):
    """Every key becomes ``blank``, but strings stay. Made for ``substitute``."""

    def __init__(self, blank: str = "") -> None:
        super().__init__()
        self._blank = blank

    def __missing__(self, key: str) -> str:
        new = self[key] = key if key.startswith('"') else self._blank
        return new


class Known(dict[str, str]):
    """Known keys are replaced, others stay. Made for ``substitute``."""

    def __missing__(self, key: str) -> str:
        return key


def tokens(pattern: str) -> re.Pattern[str]:
    """A pattern for ``substitute``: ``pattern`` outside of quoted strings.

    Where every alternative starts with a literal character the search is much faster.
    """
    return re.compile(f"({STRING}|{pattern})")


def substitute(pattern: re.Pattern[str], text: str, names: dict[str, str]) -> str:
    """``text`` with every match of ``pattern`` (one group, from ``tokens``) looked up in ``names``.

    Several times faster than ``re.sub`` with a function, which matters at 20 MB.
    """
    parts = pattern.split(text)
    parts[1::2] = map(names.__getitem__, parts[1::2])
    return "".join(parts)
