"""Geometry of the trace chart: where along the passes a difference is born and how it grows.

Plain numbers in SVG user units (one is a CSS pixel); ``templates/trace.svg.j2`` draws them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from harness.explanation import AlignedPass, Birth
from reports.view import side_of

LEFT, RIGHT = 46.0, 16.0
LABELS, LANE = 4, 15.0
ABOVE = 14.0
PLOT = 150.0
BELOW = 34.0
MANAGERS = 22.0
_CHARACTER = 6.4
_WIDTH = 1224.0


@dataclasses.dataclass(frozen=True, slots=True)
class Column:
    """One aligned pass. ``y`` is None where the difference was not measured."""

    row: int
    x: float
    y: float | None
    side: str
    title: str
    target: str
    event: str
    differs: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Label:
    """The name of a pass where a difference is born or grows; no text where it has no room."""

    number: int
    x: float
    y: float
    point: float
    text: str
    anchor: str
    event: str
    target: str


@dataclasses.dataclass(frozen=True, slots=True)
class _Place:
    number: int
    lane: int
    text: str
    anchor: str


@dataclasses.dataclass(frozen=True, slots=True)
class Band:
    """The stretch of one pass manager."""

    name: str
    x: float
    width: float


@dataclasses.dataclass(frozen=True, slots=True)
class Trace:
    """Everything that the chart draws."""

    width: float
    height: float
    step: float
    top: float
    base: float
    lines: tuple[str, ...]
    areas: tuple[str, ...]
    ticks: tuple[tuple[int, float], ...]
    columns: tuple[Column, ...]
    labels: tuple[Label, ...]
    bands: tuple[Band, ...]
    unnamed: int


def trace(rows: Sequence[AlignedPass], births: Sequence[Birth], anchor: str) -> Trace:
    """Lay out the chart; links go to ``<anchor>-b<n>`` for a birth, ``<anchor>-p<row>`` else."""
    step = min(24.0, max(8.0, (_WIDTH - LEFT - RIGHT) / max(1, len(rows))))
    width = LEFT + RIGHT + step * max(1, len(rows))
    places = _places(births, step, width)
    top = ABOVE + LANE * (1 + max((place.lane for place in places), default=-1))
    base = top + PLOT
    most = max([row.difference or 0 for row in rows], default=0)
    decades = max(1.0, math.log10(1 + most))

    def height_of(lines: int) -> float:
        return round(base - PLOT * math.log10(1 + lines) / decades, 1)

    numbered = {birth.row: number for number, birth in enumerate(births, 1)}
    named = {place.number: place for place in places}
    columns = []
    before: int | None = None
    for index, row in enumerate(rows):
        number = numbered.get(index)
        columns.append(
            Column(
                row=index,
                x=round(LEFT + step * (index + 0.5), 1),
                y=None if row.difference is None else height_of(row.difference),
                side=side_of(row),
                title=_title(row, before),
                target=f"{anchor}-b{number}" if number else f"{anchor}-p{index}",
                event=row.event,
                differs=row.behaviour == "differs",
            )
        )
        before = row.difference if row.difference is not None else before
    pieces = _pieces(columns)
    labels = tuple(
        Label(
            number=number,
            x=columns[birth.row].x,
            y=top - ABOVE - LANE * named[number].lane if number in named else top - ABOVE,
            point=_height(columns, birth.row, base),
            text=named[number].text if number in named else "",
            anchor=named[number].anchor if number in named else "middle",
            event=birth.event,
            target=f"{anchor}-b{number}",
        )
        for number, birth in enumerate(births, 1)
        if 0 <= birth.row < len(columns)
    )
    return Trace(
        width=round(width, 1),
        height=base + BELOW + MANAGERS,
        step=step,
        top=top,
        base=base,
        lines=tuple(_path(piece) for piece in pieces),
        areas=tuple(
            f"{_path(piece)} L{piece[-1][0]} {base} L{piece[0][0]} {base} Z" for piece in pieces
        ),
        ticks=tuple((value, height_of(value)) for value in _tick_values(most)),
        columns=tuple(columns),
        labels=labels,
        bands=_bands(rows, step),
        unnamed=sum(not label.text for label in labels),
    )


def _title(row: AlignedPass, before: int | None) -> str:
    if row.left is None or row.right is None:
        what = row.note or "one side only"
    elif row.difference is None:
        what = row.note or "not measured"
    elif before is None or before == row.difference:
        what = f"{row.difference:,} lines differ"
    else:
        what = f"{before:,} → {row.difference:,} lines differ"
    return f"{row.manager} / {row.name}: {what}" + (f" ({row.event})" if row.event else "")


def _pieces(columns: Sequence[Column]) -> list[list[tuple[float, float]]]:
    """Runs of measured points; a pass of one side only does not break a run, a gap does."""
    pieces: list[list[tuple[float, float]]] = [[]]
    for column in columns:
        if column.y is not None:
            pieces[-1].append((column.x, column.y))
        elif column.side == "both" and pieces[-1]:
            pieces.append([])
    return [piece for piece in pieces if piece]


def _path(points: Sequence[tuple[float, float]]) -> str:
    """A staircase: a difference stays what it is until the next pass has run."""
    (x, y), *others = points
    return f"M{x} {y}" + "".join(f" H{x} V{y}" for x, y in others)


def _tick_values(most: int) -> list[int]:
    powers = [10**exponent for exponent in range(len(str(most)) + 1) if 10**exponent <= most]
    return [0, *powers] if most > 1 else [0, 1]


def _places(births: Sequence[Birth], step: float, width: float) -> list[_Place]:
    """Room for the births' names in lanes without overlap, the lane nearest the plot first.

    A birth whose name has no room in any lane is left out.
    """
    taken: list[list[tuple[float, float]]] = [[] for _ in range(LABELS)]
    found = []
    for number, birth in enumerate(births, 1):
        text = f"{number} {birth.pass_name}"
        text = text if len(text) <= 44 else text[:43] + "…"
        x, long = LEFT + step * (birth.row + 0.5), len(text) * _CHARACTER + 12
        anchor = "start" if x + long < width else "end"
        # A dozen units to the other side keep a name clear of its neighbours' leaders.
        span = (x - 12, x + long) if anchor == "start" else (x - long, x + 12)
        lane = next((lane for lane in range(LABELS) if _free(taken[lane], span)), None)
        if lane is not None:
            taken[lane].append(span)
            found.append(_Place(number, lane, text, anchor))
    return found


def _height(columns: Sequence[Column], row: int, base: float) -> float:
    """The chart's height at ``row``: the last that was measured up to it."""
    return next((c.y for c in reversed(columns[: row + 1]) if c.y is not None), base)


def _free(taken: Sequence[tuple[float, float]], span: tuple[float, float]) -> bool:
    return all(span[1] <= low or span[0] >= high for low, high in taken)


def _bands(rows: Sequence[AlignedPass], step: float) -> tuple[Band, ...]:
    bands: list[Band] = []
    for index, row in enumerate(rows):
        if bands and bands[-1].name == row.manager:
            bands[-1] = dataclasses.replace(bands[-1], width=bands[-1].width + step)
        else:
            bands.append(Band(row.manager, LEFT + step * index, step))
    return tuple(bands)
