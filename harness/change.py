"""The nouns of what changed in a night: a change, all changes, and those of one cause."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from harness.record import Record

_PLACE = re.compile(r'(?<![\w./-])[\w./-]+\.py"?:\d+:\d+')


class Change(Record, frozen=True):
    """One thing that changed. ``kind`` is one of ``KINDS``.

    ``case`` is a case id or a TLX name; ``stages`` are in pipeline order; ``before`` and
    ``after`` say what was and is, in words; ``born`` is where the difference that came or went
    is born. ``attribution`` is the explanation's, ``moved`` the
    sides whose own result there is another than before, ``because`` what else changed since
    ``since``, the start of the earlier night. ``command`` shows it again; ``bisect`` finds
    the version that brought it, where a toolchain changed.
    """

    kind: str
    case: str
    after: str
    stages: tuple[str, ...] = ()
    before: str = ""
    born: str = ""
    attribution: str = ""
    moved: tuple[str, ...] = ()
    because: tuple[str, ...] = ()
    unexpected: bool = False
    since: str = ""
    command: str = ""
    bisect: tuple[str, ...] = ()


class ToolchainChange(Record, frozen=True):
    """A side that is another toolchain than before, in words."""

    role: str
    before: str
    after: str


class Changes(Record, frozen=True):
    """All that changed in one night, the worst kind first.

    ``since`` is the start of the latest earlier night, empty where there is none.
    ``compared`` counts the cases that an earlier night has too, ``new_cases`` the others;
    ``pending`` are the cases that were unexpected before and still are. ``void`` says why
    the night measured nothing; ``machine`` is the common factor of all compile times.
    """

    channel: str
    night: str
    started: str
    exit_status: int
    since: str = ""
    toolchains: tuple[ToolchainChange, ...] = ()
    changes: tuple[Change, ...] = ()
    compared: int = 0
    new_cases: int = 0
    pending: tuple[str, ...] = ()
    void: str = ""
    machine: float = 1.0

    @property
    def alarming(self) -> bool:
        """Whether anything changed for the worse unexpectedly."""
        return any(change.unexpected for change in self.changes)


KINDS = (
    "newly failing",
    "new divergence",
    "changed",
    "new case differs",
    "slower on the GPU",
    "slower to compile",
    "vanished name",
    "new name",
    "newly compiling",
    "fixed",
)


class Alike(Record, frozen=True):
    """Changes of one kind and cause: the first one, and the cases of all."""

    change: Change
    cases: tuple[str, ...]


def alike(found: Sequence[Change]) -> tuple[Alike, ...]:
    """``found``, what happened alike to several cases told once, in the same order."""
    groups: dict[tuple[object, ...], list[Change]] = defaultdict(list)
    for change in found:
        key = (change.kind, _cause(change), change.attribution, change.moved, change.unexpected)
        groups[key].append(change)
    return tuple(Alike(group[0], tuple(c.case for c in group)) for group in groups.values())


def _cause(change: Change) -> tuple[str, ...]:
    """What makes two changes of one kind alike: the compiler's words of a failure, wherever in a
    source file; the first stage and the pass of a difference; the side that is slower."""
    if "outcome" in change.stages:
        return (_PLACE.sub("", change.before + change.after),)
    if change.kind.startswith("slower"):
        return (change.after.partition(":")[0],)
    return (*change.stages[:1], change.born.partition(":")[0])


def headline(found: Changes) -> str:
    """One line: since when how many changes there are of each kind, or that there are none."""
    if found.void:
        return f"void, nothing was measured: {found.void}"
    if not found.since:
        return "the first night, nothing to compare with"
    counts = Counter(change.kind for change in found.changes)
    words = [
        f"{counts[kind]} {kind}"
        + ("s" if counts[kind] > 1 and kind.endswith(("divergence", "name")) else "")
        for kind in KINDS
        if counts[kind]
    ]
    text = (
        ", ".join(words) or f"nothing changed in {found.compared} case{'s' * (found.compared != 1)}"
    )
    return f"{text} since {found.since}"
