"""A text artifact as lines in which to plant, and the edits to it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property

from harness import compare
from harness.record import Record
from harness.selfcheck.live import live

COMMENTS = {"llir": ";", "ptx": "//", "amdgcn": ";", "sass": "//"}
_KEY = re.compile(r' "(\w+)": ')


class Edit(Record, frozen=True):
    """Lines ``start:end`` (from 0) become ``lines``; ``what`` says so for readers."""

    start: int
    end: int
    lines: tuple[str, ...]
    what: str


class Listing:
    """The lines of an artifact. ``live`` are the indices of those in which a planted change is
    not benign (see ``harness.selfcheck.live``)."""

    def __init__(self, stage: str, data: bytes) -> None:
        self.stage = stage
        self.lines = data.decode().split("\n")
        self.live = live(stage, self.lines)
        self.form = compare.normalise(stage, data)

    @cached_property
    def normal(self) -> dict[int, str]:
        """The normal forms of lines. That of JSON is made anew, a line for each key; that of SASS
        has both lines of an instruction as one."""
        if self.stage == "metadata":
            of = {text.partition(" = ")[0]: text for text in self.form.lines}
            found, key = {}, ""
            for i, line in enumerate(self.lines):
                match = _KEY.match(line)
                key = match[1] if match else key
                found[i] = of.get(key, line)
            return found
        pairs = zip(self.form.origin, self.form.lines, strict=True)
        found = {line - 1: text for line, text in pairs}
        if self.stage == "sass":
            found |= {i: found[i - 1] for i in self.live if i not in found and i - 1 in found}
        return found

    def code(self, index: int) -> str:
        """A line without its comment."""
        line = self.lines[index]
        mark = COMMENTS.get(self.stage)
        return line if mark is None or '"' in line else line.partition(mark)[0]

    def after(self, edit: Edit) -> bytes:
        """The artifact with ``edit`` made."""
        return "\n".join([*self.lines[: edit.start], *edit.lines, *self.lines[edit.end :]]).encode()


Find = Callable[[Listing], Iterator[Edit]]


def replaced(
    pattern: str, change: Callable[[str], str | None], within: str = "", without: str = ""
) -> Find:
    """Finds group 1 of each match of ``pattern`` in a live line, to be put through ``change``
    (None: not there). Lines must match ``within`` and must not match ``without``, if given."""
    place, need = re.compile(pattern), re.compile(within)
    avoid = re.compile(without) if without else None

    def find(listing: Listing) -> Iterator[Edit]:
        for i in listing.live:
            code = listing.code(i)
            if not need.search(code) or (avoid and avoid.search(code)):
                continue
            for match in place.finditer(code):
                new = change(match[1])
                if new is not None and new != match[1]:
                    line = listing.lines[i]
                    yield Edit(
                        i,
                        i + 1,
                        (line[: match.start(1)] + new + line[match.end(1) :],),
                        f"line {i + 1}: {match[1]} becomes {new or 'nothing'}, in {code.strip()}",
                    )

    return find


def removed(pattern: str, without: str = "") -> Find:
    """Finds the live lines that match ``pattern``, to be left out."""
    wanted = re.compile(pattern)
    avoid = re.compile(without) if without else None

    def find(listing: Listing) -> Iterator[Edit]:
        for i in listing.live:
            code = listing.code(i)
            if wanted.search(code) and not (avoid and avoid.search(code)):
                yield Edit(i, i + 1, (), f"line {i + 1} removed: {code.strip()}")

    return find


def swapped(pattern: str, without: str = "") -> Find:
    """Finds neighbouring live lines that both match ``pattern`` and differ, to be swapped."""
    wanted = re.compile(pattern)
    avoid = re.compile(without) if without else None

    def fits(code: str) -> bool:
        return bool(wanted.search(code)) and not (avoid and avoid.search(code))

    def find(listing: Listing) -> Iterator[Edit]:
        for i, j in zip(listing.live, listing.live[1:], strict=False):
            first, second = listing.code(i), listing.code(j)
            indent = [len(code) - len(code.lstrip()) for code in (first, second)]
            beside = j == i + 1 and indent[0] == indent[1]
            other = listing.normal.get(i, first) != listing.normal.get(j, second)
            if beside and other and fits(first) and fits(second):
                lines = listing.lines[j], listing.lines[i]
                what = f"lines {i + 1} and {j + 1} swapped: {first.strip()}"
                yield Edit(i, j + 1, lines, what)

    return find


def repeated(pattern: str) -> Find:
    """Finds the live lines that match ``pattern``, to stand there twice."""
    wanted = re.compile(pattern)

    def find(listing: Listing) -> Iterator[Edit]:
        for i in listing.live:
            if wanted.search(listing.code(i)):
                line = listing.lines[i]
                yield Edit(i, i + 1, (line, line), f"line {i + 1} twice: {line.strip()}")

    return find


def other_name(name: str, functions: str) -> Find:
    """Finds uses of a name (of a value, register or label; ``name`` has one group) and puts
    there another name that is used elsewhere in the same function.

    ``functions`` matches the line where a function starts. The other name is one of the same
    class (its letters), so the text stays well formed.
    """
    place, start = re.compile(name), re.compile(functions)

    def find(listing: Listing) -> Iterator[Edit]:
        names: dict[str, list[str]] = {}
        alive = set(listing.live)
        for i, line in enumerate(listing.lines):
            if start.search(line):
                names = {}
            if i not in alive or line.lstrip().startswith((".reg", "//")):
                continue
            code = listing.code(i)
            for match in place.finditer(code):
                known = names.setdefault(re.sub(r"\d+", "", match[1]), [])
                other = next((each for each in reversed(known[-6:]) if each != match[1]), None)
                if other is not None and not code[match.end() :].lstrip().startswith(("=", ":")):
                    yield Edit(
                        i,
                        i + 1,
                        (line[: match.start(1)] + other + line[match.end(1) :],),
                        f"line {i + 1}: {match[1]} becomes {other}, in {code.strip()}",
                    )
                if match[1] not in known:
                    known.append(match[1])

    return find
