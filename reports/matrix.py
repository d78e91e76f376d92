"""The page of the version matrix: a heat map of pairs, and why pins could not be used."""

from __future__ import annotations

from harness.matrix import Cell, Matrix
from reports.templating import page

MARKS = {"identical": "=", "equivalent": "~", "different": "x", "refused": "r", "fails": "!"}
LEVELS = tuple(MARKS)


def matrix_page(found: Matrix) -> str:
    """The page as HTML."""
    cells = {(cell.reference, cell.candidate): cell for cell in found.cells}
    return page(
        "matrix.html.j2",
        matrix=found,
        cells=cells,
        levels=LEVELS,
        marks=MARKS,
        tone=_tone,
        unusable=[pin for pin in (*found.references, *found.candidates) if pin.problem],
        root="",
    )


def matrix_markdown(found: Matrix) -> str:
    """The same as Markdown, a mark for each probe: candidates are rows, references columns."""
    columns = [(i, pin) for i, pin in enumerate(found.references) if not pin.problem]
    cells = {(cell.reference, cell.candidate): cell for cell in found.cells}
    lines = ["Probes, in the order of the marks:", ""]
    lines += [f"{number}. `{case}`" for number, case in enumerate(found.cases, 1)]
    lines += ["", ", ".join(f"`{MARKS[level]}` {level}" for level in LEVELS) + ".", ""]
    lines += [
        f"| | {' | '.join(pin.name for _, pin in columns)} |",
        "|---" * len(columns) + "|---|",
    ]
    for j, pin in enumerate(found.candidates):
        if not pin.problem:
            row = [_marks(cells.get((i, j))) for i, _ in columns]
            lines.append(f"| {' | '.join([pin.name, *row])} |")
    unusable = [pin for pin in (*found.references, *found.candidates) if pin.problem]
    lines += ["", "Could not be used:", ""] if unusable else []
    lines += [f"- {pin.name}: {pin.problem}" for pin in unusable]
    return "\n".join(lines) + "\n"


def _marks(cell: Cell | None) -> str:
    if cell is None:  # of a matrix that is still being measured
        return ""
    return "`" + "".join(MARKS[probe.level] for probe in cell.probes) + "`"


def _tone(cell: Cell) -> str:
    """The colour of a pair: its worst probe's."""
    return max((probe.level for probe in cell.probes), key=LEVELS.index, default="fails")
