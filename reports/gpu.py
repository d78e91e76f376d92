"""What a GPU showed: bits, and the chart of how long both sides take.

Plain numbers in SVG user units, as in ``charts``; ``templates/speed.svg.j2`` draws them.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections import Counter
from collections.abc import Sequence

from harness.result import SpeedOf
from reports.cases import CaseView

LEFT, RIGHT, ABOVE, PLOT, BELOW = 46.0, 16.0, 16.0, 220.0, 8.0
_WIDTH = 1224.0
_LINE = 14.0
_NAMED = 6
_CHARACTER = 6.4
_STATES = ("FAULT", "TIMEOUT", "STRAY_WRITE", "WRONG", "NONDETERMINISTIC", "DIFFERENT")
_TICKS = (0.1, 0.2, 0.33, 0.5, 0.67, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0)


@dataclasses.dataclass(frozen=True, slots=True)
class Mark:
    """One case: its ratio, and the interval as a whisker from ``top`` to ``bottom``."""

    x: float
    y: float
    top: float
    bottom: float
    verdict: str
    title: str
    href: str


@dataclasses.dataclass(frozen=True, slots=True)
class Name:
    """The name of one of the extreme cases, beside its mark."""

    x: float
    y: float
    anchor: str
    text: str
    href: str


@dataclasses.dataclass(frozen=True, slots=True)
class SpeedChart:
    """Everything that the chart draws; the slowest case is the leftmost."""

    width: float
    height: float
    step: float
    one: float
    ticks: tuple[tuple[str, float], ...]
    marks: tuple[Mark, ...]
    names: tuple[Name, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class GpuView:
    """The cases that a GPU measured.

    ``timed`` are those whose two binaries could be timed against each other, slowest first;
    ``slower`` those of them that are slower beyond noise; ``untimed`` says why others were not,
    and how often; ``unequal`` are the cases whose results are not equal,
    not stable or not right, the worst first.
    """

    cases: tuple[CaseView, ...]
    timed: tuple[CaseView, ...]
    slower: tuple[CaseView, ...]
    untimed: tuple[tuple[str, int], ...]
    unequal: tuple[CaseView, ...]
    chart: SpeedChart | None

    @property
    def equal(self) -> int:
        """How many cases gave bitwise equal, right and stable results."""
        return len(self.cases) - len(self.unequal)

    @property
    def median(self) -> float:
        """The median of the ratios of those timed."""
        return statistics.median(_speed(case).ratio for case in self.timed)


def gpu_of(cases: Sequence[CaseView]) -> GpuView:
    """What a GPU showed of ``cases``; empty where none was launched."""
    measured = [case for case in cases if launched(case)]
    timed = sorted(filter(_timed, measured), key=lambda case: -_speed(case).ratio)
    why = Counter(
        "not timed" if (speed := _parity_speed(case)) is None else speed.verdict
        for case in measured
        if not _timed(case)
    )
    return GpuView(
        cases=tuple(measured),
        timed=tuple(timed),
        slower=tuple(case for case in timed if _speed(case).verdict == "slower"),
        untimed=tuple(why.most_common()),
        unequal=tuple(sorted(filter(_severity, measured), key=_severity)),
        chart=speed_chart(timed) if timed else None,
    )


def launched(case: CaseView) -> bool:
    """Whether a GPU measured anything of the case."""
    return case.result.parity is not None and case.result.parity.state != "SKIPPED"


def speed_chart(cases: Sequence[CaseView]) -> SpeedChart:
    """Lay out the ratios of ``cases``, which are sorted, on a logarithmic axis."""
    speeds = [_speed(case) for case in cases]
    high = math.log(max(1.1, *(speed.high for speed in speeds)) * 1.03)
    low = math.log(min(0.95, *(speed.low for speed in speeds)) / 1.03)
    step = min(24.0, max(8.0, (_WIDTH - LEFT - RIGHT) / len(cases)))
    width = max(640.0, LEFT + RIGHT + step * len(cases))

    def height_of(ratio: float) -> float:
        return round(ABOVE + PLOT * (high - math.log(max(ratio, 1e-6))) / (high - low), 1)

    marks = tuple(
        Mark(
            x=round(LEFT + step * (index + 0.5), 1),
            y=height_of(speed.ratio),
            top=height_of(speed.high),
            bottom=height_of(speed.low),
            verdict=speed.verdict,
            title=f"{case.id}: {ratio_words(speed)}, {speed.verdict}",
            href=case.href,
        )
        for index, (case, speed) in enumerate(zip(cases, speeds, strict=True))
    )
    return SpeedChart(
        width=round(width, 1),
        height=ABOVE + PLOT + BELOW,
        step=step,
        one=height_of(1.0),
        ticks=_spaced([(f"{tick:g}×", height_of(tick)) for tick in _TICKS], low, high),
        marks=marks,
        names=(*_names(cases, marks, +1), *_names(cases[::-1], marks[::-1], -1)),
    )


def ratio_words(speed: SpeedOf) -> str:
    """A ratio with its interval, or why there is none."""
    if not speed.compared:
        return speed.verdict
    return f"{speed.ratio:.3f} [{speed.low:.3f}, {speed.high:.3f}]"


def _spaced(
    ticks: Sequence[tuple[str, float]], low: float, high: float
) -> tuple[tuple[str, float], ...]:
    """The ticks on the axis that are a line of text apart; that of 1 always is there."""
    inside = [tick for tick in ticks if low <= math.log(float(tick[0][:-1])) <= high]
    inside.sort(key=lambda tick: (tick[0] != "1×", abs(math.log(float(tick[0][:-1])))))
    kept: list[tuple[str, float]] = []
    for tick in inside:
        if all(abs(tick[1] - other) >= _LINE for _, other in kept):
            kept.append(tick)
    return tuple(sorted(kept, key=lambda tick: tick[1]))


def _names(cases: Sequence[CaseView], marks: Sequence[Mark], way: int) -> list[Name]:
    """Names of the first cases that stand out, right of their marks (+1) or left (-1).

    One that would lie over other marks or names is left out: the table has them all.
    """
    wanted = "slower" if way > 0 else "faster"
    found: list[Name] = []
    for case, mark in list(zip(cases, marks, strict=True))[:_NAMED]:
        if mark.verdict != wanted:
            break
        text = case.id.rpartition("@")[0]
        text = text if len(text) <= 60 else text[:59] + "…"
        reach = len(text) * _CHARACTER + 12
        covers = [m for m in marks if m is not mark and 0 < way * (m.x - mark.x) < reach]
        clear = all(abs(m.y - mark.y) > _LINE / 2 for m in covers)
        if clear and (not found or abs(found[-1].y - 4 - mark.y) >= _LINE):
            anchor = "start" if way > 0 else "end"
            found.append(Name(mark.x + way * 9, round(mark.y + 4, 1), anchor, text, case.href))
    return found


def _severity(case: CaseView) -> int:
    """The rank of a state that is not as it should be, from 1, the worst; 0 if all is equal."""
    state = case.result.parity.state if case.result.parity is not None else ""
    return 0 if state == "BITWISE_EQUAL" else 1 + [*_STATES, state].index(state)


def _timed(case: CaseView) -> bool:
    speed = _parity_speed(case)
    return speed is not None and speed.verdict in ("same", "slower", "faster")


def _speed(case: CaseView) -> SpeedOf:
    speed = _parity_speed(case)
    assert speed is not None  # of timed cases only
    return speed


def _parity_speed(case: CaseView) -> SpeedOf | None:
    return case.result.parity.speed if case.result.parity is not None else None
