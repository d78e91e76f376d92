"""The version matrix: many pins of each side, and how equal every pair of them is."""

from __future__ import annotations

from pathlib import Path

import msgspec

from harness.errors import HarnessError
from harness.record import Record


class Attempt(Record, frozen=True):
    """How one probe compiled with one pin: the outcome and, where it failed, the words."""

    outcome: str
    failure: str = ""


class Pin(Record, frozen=True):
    """One toolchain of the matrix: ``version`` as given, ``override`` what it stands for.

    ``problem`` says why it cannot be used. ``probes`` maps the ids of the cases that it
    compiled; ``triton`` is the version that its Triton gives itself.
    """

    role: str
    version: str
    override: str
    problem: str = ""
    fingerprint: str = ""
    triton: str = ""
    probes: dict[str, Attempt] = {}

    @property
    def name(self) -> str:
        """What tables call it."""
        return f"{self.role} {self.version}"

    @property
    def compiled(self) -> int:
        """How many of the probes it compiled."""
        return sum(attempt.outcome == "OK" for attempt in self.probes.values())


class Probe(Record, frozen=True):
    """One case with one pair: the outcome as ``harness.judge`` words it, and the verdict at each
    stage, none unless both sides compiled it."""

    case: str
    outcome: str
    verdicts: dict[str, str]


class Cell(Record, frozen=True):
    """One pair of pins: indices into the two lists, and what each probe showed."""

    reference: int
    candidate: int
    probes: tuple[Probe, ...]


class Matrix(Record, frozen=True):
    """The whole: pins of both sides, and a cell for each pair of which both can be used.

    ``command`` is what was typed, ``started`` when (UTC, ISO 8601).
    """

    started: str
    command: str
    cases: tuple[str, ...]
    references: tuple[Pin, ...] = ()
    candidates: tuple[Pin, ...] = ()
    cells: tuple[Cell, ...] = ()

    def usable(self) -> tuple[list[tuple[int, Pin]], list[tuple[int, Pin]]]:
        """The pins of both sides that can be used, with their indices."""
        sides = (self.references, self.candidates)
        rows, columns = ([(i, p) for i, p in enumerate(side) if not p.problem] for side in sides)
        return rows, columns

    def pair(self, reference: int, candidate: int) -> Cell | None:
        """The cell of a pair; None if it was not measured."""
        found = (c for c in self.cells if (c.reference, c.candidate) == (reference, candidate))
        return next(found, None)


def load(path: Path) -> Matrix | None:
    """The matrix in a file, or None if there is none; raises HarnessError if it is malformed."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Matrix)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError, msgspec.ValidationError) as error:
        raise HarnessError(str(path), f"no matrix: {error}", "delete it") from error


def save(matrix: Matrix, path: Path) -> None:
    """Write the matrix, whole or not at all; raises HarnessError if that fails."""
    temporary = path.with_suffix(".tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(msgspec.json.format(msgspec.json.encode(matrix), indent=1))
        temporary.replace(path)
    except OSError as error:
        cause = f"cannot be written: {error.strerror or error}"
        raise HarnessError(str(path), cause, "give another file with --out FILE") from error
