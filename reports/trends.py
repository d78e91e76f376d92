"""Geometry of the trends: a strip per kernel, and lines over the nights.

Plain numbers in SVG user units, as in ``charts``; ``templates/lines.svg.j2`` and
``templates/strip.html.j2`` draw them.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence

from harness.night import UNEXPECTED
from harness.trend import Point, Strip, Trend

WIDTH, PLOT = 350.0, 120.0
LEFT, RIGHT, ABOVE, BELOW = 52.0, 12.0, 10.0, 22.0
CELLS, CELL = 720.0, 22.0  # the width of a strip at most, and of one night at most
_UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


@dataclasses.dataclass(frozen=True, slots=True)
class Dot:
    """One value, where it stands; ``row`` is the side that it is of: 0 or 1."""

    x: float
    y: float
    row: int
    title: str


@dataclasses.dataclass(frozen=True, slots=True)
class Lines:
    """A chart of one or two lines over the nights, of sums ``over`` so many cases (0: no sums).

    ``turns`` are nights before which a toolchain changed, each with what it became; ``dates``
    stand below, the first and the last.
    """

    title: str
    over: int
    names: tuple[str, ...]
    width: float
    height: float
    base: float
    paths: tuple[tuple[int, str], ...]
    dots: tuple[Dot, ...]
    ticks: tuple[tuple[str, float], ...]
    turns: tuple[tuple[float, str], ...]
    dates: tuple[tuple[float, str, str], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Cell:
    """Nights in a row in which a kernel has one status."""

    x: float
    width: float
    status: str
    title: str


@dataclasses.dataclass(frozen=True, slots=True)
class KernelStrip:
    """A kernel's nights. ``turns`` are where a verdict or a difference changed."""

    kernel: str
    cells: tuple[Cell, ...]
    turns: tuple[tuple[float, str], ...]
    restless: bool


@dataclasses.dataclass(frozen=True, slots=True)
class TrendView:
    """Everything that the page of trends shows; ``width`` is that of a strip."""

    trend: Trend
    charts: tuple[Lines, ...]
    strips: tuple[KernelStrip, ...]
    width: float


def trend_view(trend: Trend, reference: str, candidate: str) -> TrendView:
    """Lay out the trends of a series of nights between two sides."""
    points = trend.points
    roles = (reference, candidate)
    shares = [[_share(p.identical) for p in points], [_share(p.crossing) for p in points]]
    seconds = [[p.seconds.get(role) for p in points] for role in roles]
    sizes = [[float(p.sizes.get(role, 0)) or None for p in points] for role in roles]
    names = ("identical binaries", f"{reference}'s back end gives its own assembly")
    charts = [
        _lines("Share of cases, %", names, points, shares, 100.0, "%"),
        _lines("Time to compile, s", roles, points, seconds, None, " s", trend.common),
        _lines("Size of the binaries, bytes", roles, points, sizes, None, " bytes", trend.common),
    ]
    if any(point.speed is not None for point in points):
        name = f"{candidate} over {reference}, median"
        ratios = [[point.speed for point in points]]
        charts.append(_lines("Time on the GPU, ratio", (name,), points, ratios, None, "×"))
    step = min(CELL, CELLS / max(1, len(points)))
    kernels = sorted({kernel for point in points for kernel in point.kernels})
    strips = [_strip(kernel, points, step) for kernel in kernels]
    return TrendView(
        trend=trend,
        charts=tuple(charts) if len(points) > 1 else (),
        strips=tuple(sorted(strips, key=lambda strip: not strip.restless)),
        width=round(step * len(points), 1),
    )


def _share(pair: tuple[int, int]) -> float | None:
    return 100.0 * pair[0] / pair[1] if pair[1] else None


def _lines(
    title: str,
    names: Sequence[str],
    points: Sequence[Point],
    values: Sequence[Sequence[float | None]],
    top: float | None,
    unit: str,
    over: int = 0,
) -> Lines:
    base = ABOVE + PLOT
    step = (WIDTH - LEFT - RIGHT) / max(1, len(points) - 1)
    most = top or max((value for row in values for value in row if value is not None), default=0)
    ticks = _ticks(most)
    most = max(most, ticks[-1]) or 1.0

    def place(index: int, value: float) -> tuple[float, float]:
        return round(LEFT + step * index, 1), round(base - PLOT * value / most, 1)

    paths, dots = [], []
    for row, series in enumerate(values):
        piece: list[str] = []
        for index, value in enumerate(series):
            if value is None:
                piece = []
                continue
            x, y = place(index, value)
            paths += [] if piece else [(row, piece)]
            piece.append(f"{'L' if piece else 'M'}{x} {y}")
            when = points[index].started[:16].replace("T", " ")
            dots.append(
                Dot(x, y, row, f"{when}: {names[row]} {value:,.{2 if most < 10 else 1}f}{unit}")
            )
    return Lines(
        title=title,
        over=over,
        names=tuple(names),
        width=WIDTH,
        height=base + BELOW,
        base=base,
        paths=tuple((row, " ".join(piece)) for row, piece in paths),
        dots=tuple(dots),
        ticks=tuple((_short(tick), place(0, tick)[1]) for tick in ticks),
        turns=tuple((place(index, 0)[0], text) for index, text in _turns(points)),
        dates=tuple(
            (place(index, 0)[0], points[index].started[:10], anchor)
            for index, anchor in ((0, "start"), (len(points) - 1, "end"))
            if points
        ),
    )


def _turns(points: Sequence[Point]) -> list[tuple[int, str]]:
    """The nights whose toolchains are not those of the night before, and what they became."""
    found = []
    for index in range(1, len(points)):
        before, now = points[index - 1].toolchains, points[index].toolchains
        changed = [f"{role}: {what}" for role, what in now.items() if before.get(role) != what]
        if changed:
            found.append((index, "; ".join(changed)))
    return found


def _strip(kernel: str, points: Sequence[Point], step: float) -> KernelStrip:
    nights = [(n, found) for n, point in enumerate(points) if (found := point.kernels.get(kernel))]
    spans: list[list[tuple[int, Strip]]] = []
    for index, strip in nights:
        if spans and spans[-1][-1][0] == index - 1 and spans[-1][-1][1].status is strip.status:
            spans[-1].append((index, strip))
        else:
            spans.append([(index, strip)])
    turns = tuple(
        (round(step * index, 1), f"{_day(points[index])}: a verdict or a difference changed")
        for (_, before), (index, strip) in itertools.pairwise(nights)
        if before.digest != strip.digest
    )
    alarm = bool(nights) and nights[-1][1].status in UNEXPECTED
    cells = tuple(_cell(span, points, step) for span in spans)
    return KernelStrip(kernel, cells, turns, bool(turns) or alarm)


def _cell(span: Sequence[tuple[int, Strip]], points: Sequence[Point], step: float) -> Cell:
    first, last = span[0][0], span[-1][0]
    strip = span[-1][1]
    days = dict.fromkeys(_day(points[index]) for index in (first, last))
    return Cell(
        x=round(step * first, 1),
        width=round(step * (last - first + 1), 1),
        status=strip.status.value,
        title=f"{' to '.join(days)}: {strip.status.value}, {strip.identical} of {strip.cases}"
        " binaries identical",
    )


def _day(point: Point) -> str:
    return point.started[:10]


def _ticks(most: float) -> list[float]:
    """Round values from 0 to at least ``most``, at most six of them."""
    if most < 1e-6:  # nothing, as far as anybody can see
        return [0.0, 1.0]
    power = 10.0 ** math.floor(math.log10(most))
    step = next(s * power for s in (0.2, 0.25, 0.5, 1.0, 2.0, 2.5) if most / (s * power) <= 5)
    return [step * number for number in range(math.ceil(most / step - 1e-9) + 1)]


def _short(value: float) -> str:
    for size, letter in _UNITS:
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
