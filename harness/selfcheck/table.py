"""What became of each planting, and the table that is published of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness.record import Record

HEAD = ("kind", "planted", "caught", "located", "wrongly flagged")


class Finding(Record, frozen=True):
    """One planting. ``group`` and ``kind`` say what it is, ``subject`` in what (a case, a side and
    a stage) and ``what`` the change itself.

    ``benign`` plantings cannot change what the GPU executes: ``caught`` means that the bytes were
    seen to differ, ``flagged`` that they were wrongly judged different. For all others ``caught``
    means that they were judged different. ``located`` is whether the place, and the kind of the
    difference, were named. ``answer`` holds the harness's words.
    """

    group: str
    kind: str
    subject: str
    what: str
    caught: bool
    located: bool
    benign: bool = False
    flagged: bool = False
    answer: str = ""

    @property
    def missed(self) -> bool:
        """Whether anything about it is not as it must be."""
        return not (self.caught and self.located) or self.flagged


class Row(Record, frozen=True):
    """How the plantings of one kind came out. ``flagged`` is None where none was benign."""

    group: str
    kind: str
    planted: int
    caught: int
    located: int
    flagged: int | None


def rows(findings: Iterable[Finding]) -> list[Row]:
    """One row for each group and kind, in order of first appearance."""
    kinds: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        kinds.setdefault((finding.group, finding.kind), []).append(finding)
    return [
        Row(
            group,
            kind,
            len(some),
            sum(each.caught for each in some),
            sum(each.located for each in some),
            sum(each.flagged for each in some) if any(each.benign for each in some) else None,
        )
        for (group, kind), some in kinds.items()
    ]


def misses(findings: Iterable[Finding]) -> list[Finding]:
    """The findings that are not as they must be."""
    return [finding for finding in findings if finding.missed]


def cells(row: Row) -> tuple[str, ...]:
    """The cells of a row below ``HEAD``."""
    flagged = "" if row.flagged is None else str(row.flagged)
    return row.kind, str(row.planted), str(row.caught), str(row.located), flagged


def total(some: Sequence[Row], name: str) -> Row:
    """All rows as one, called ``name``."""
    flagged = [row.flagged for row in some if row.flagged is not None]
    return Row(
        "",
        name,
        sum(row.planted for row in some),
        sum(row.caught for row in some),
        sum(row.located for row in some),
        sum(flagged) if flagged else None,
    )
