"""The page of the version matrix: a heat map of pairs, and why pins could not be used."""

from __future__ import annotations

from collections.abc import Sequence

from harness.matrix import Cell, Matrix, Pin
from reports.templating import page

LEVELS = ("identical", "equivalent", "different", "refused", "fails")


def matrix_page(found: Matrix) -> str:
    """The page as HTML."""
    cells = {(cell.reference, cell.candidate): cell for cell in found.cells}
    return page(
        "matrix.html.j2",
        matrix=found,
        cells=cells,
        levels=LEVELS,
        tone=_tone,
        unusable=[pin for pin in (*found.references, *found.candidates) if pin.problem],
        root="",
    )


def matrix_markdown(found: Matrix) -> str:
    """The same as Markdown: how many of the probes' binaries are equal, of those compiled."""
    columns = [(j, pin) for j, pin in enumerate(found.candidates) if not pin.problem]
    cells = {(cell.reference, cell.candidate): cell for cell in found.cells}
    lines = [
        f"| {' | '.join(['', *(pin.name for _, pin in columns)])} |",
        f"|{'---|' * (len(columns) + 1)}",
    ]
    for i, pin in enumerate(found.references):
        if not pin.problem:
            row = [_counted(cells.get((i, j))) for j, _ in columns]
            lines.append(f"| {' | '.join([pin.name, *row])} |")
    lines += ["", *_reasons([*found.references, *found.candidates])]
    return "\n".join(lines) + "\n"


def _counted(cell: Cell | None) -> str:
    if cell is None:  # of a matrix that is still being measured
        return ""
    levels = [probe.level for probe in cell.probes]
    equal = sum(level in ("identical", "equivalent") for level in levels)
    return f"{equal} of {sum(level not in ('fails', 'refused') for level in levels)}"


def _reasons(pins: Sequence[Pin]) -> list[str]:
    return [f"- {pin.name}: {pin.problem}" for pin in pins if pin.problem]


def _tone(cell: Cell) -> str:
    """The colour of a pair: its worst probe's."""
    return max((probe.level for probe in cell.probes), key=LEVELS.index, default="fails")
