"""The version matrix: a heat map of pairs, and what became of each version."""

from __future__ import annotations

import textwrap
from collections import Counter

from harness.matrix import Cell, Matrix, Pin, Probe
from reports.ladder import Depth, depth, legend
from reports.templating import page


def matrix_page(found: Matrix, in_report: bool) -> str:
    """The page as HTML; a part of a report has a way back to its index."""
    rows = [
        (pin, [cell and [(probe, probe_depth(probe)) for probe in cell.probes] for cell in cells])
        for pin, cells in _rows(found)
    ]
    pins = (*found.references, *found.candidates)
    return page(
        "matrix.html.j2",
        matrix=found,
        rows=rows,
        references=[pin for _, pin in found.usable()[0]],
        pins=[(pin, _why_not(pin)) for pin in pins],
        unusable=sum(pin.problem != "" for pin in pins),
        legend=legend(probe_depth(probe) for cell in found.cells for probe in cell.probes),
        in_report=in_report,
    )


def matrix_markdown(found: Matrix) -> str:
    """The same as Markdown tables."""
    references, _ = found.usable()
    letters = legend(probe_depth(probe) for cell in found.cells for probe in cell.probes)
    lines = [
        "# Version matrix",
        "",
        f"Made by `{found.command}` on {found.started[:10]}.",
        "",
        "## Pairs",
        "",
        f"One letter for each of the {len(found.cases)} probes, in the order below: the deepest"
        " stage at which both",
        "sides are equal, a small letter where that needs rules. "
        + ", ".join(f"`{letter}` {words}" for letter, _, words in letters)
        + ".",
        "",
        _row(["", *(pin.name for _, pin in references)]),
        _row(["---"] * (len(references) + 1)),
    ]
    for pin, cells in _rows(found):
        lines.append(_row([pin.name, *(f"`{_letters(cell)}`" if cell else "" for cell in cells)]))
    lines += ["", "## Probes", ""]
    lines += [f"{number}. `{case}`" for number, case in enumerate(found.cases, 1)]
    lines += ["", "## Versions", "", _row(["version", "Triton", "probes compiled", "why not"])]
    lines.append(_row(["---"] * 4))
    for pin in (*found.references, *found.candidates):
        compiled = "not usable" if pin.problem else f"{pin.compiled} of {len(pin.probes)}"
        lines.append(_row([pin.name, pin.triton, compiled, _why_not(pin)]))
    return "\n".join(lines) + "\n"


def probe_depth(probe: Probe) -> Depth:
    """How far down a pair is equal in one probe."""
    states = {stage: verdict.lower() for stage, verdict in probe.verdicts.items()}
    return depth(probe.outcome, states)


def _why_not(pin: Pin) -> str:
    """Why the pin cannot be used, or in which ways how many of its probes failed."""
    failed = [each.failure for each in pin.probes.values() if each.outcome != "OK"]
    ways = Counter(textwrap.shorten(words, 160, placeholder=" …") for words in failed)
    return pin.problem or "; ".join(f"{count} × {words}" for words, count in ways.most_common())


def _rows(found: Matrix) -> list[tuple[Pin, list[Cell | None]]]:
    """The usable candidates, each with its cells under the usable references."""
    references, candidates = found.usable()
    return [(pin, [found.pair(row, at) for row, _ in references]) for at, pin in candidates]


def _letters(cell: Cell) -> str:
    return "".join(probe_depth(probe).letter for probe in cell.probes)


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"
