"""The version matrix: many pins of each side, and how equal every pair of them is."""

from __future__ import annotations

from pathlib import Path

import msgspec

from harness.errors import HarnessError
from harness.record import Record

FILE = "matrix.json"


class Pin(Record, frozen=True):
    """One toolchain of the matrix: ``version`` as given, ``problem`` why it cannot be used.

    ``probes`` maps a case's id to the key of its compilation in the store.
    """

    role: str
    version: str
    override: str
    problem: str = ""
    fingerprint: str = ""
    triton: str = ""
    probes: dict[str, str] = {}

    @property
    def name(self) -> str:
        """What tables call it."""
        return f"{self.role} {self.version}"


class Probe(Record, frozen=True):
    """One case with one pair: the outcome, and the verdict at each stage."""

    case: str
    outcome: str
    verdicts: dict[str, str]

    @property
    def level(self) -> str:
        """``identical`` or ``equivalent`` (the binary), ``different``, ``refused`` (by both
        alike) or ``fails``."""
        if self.outcome.startswith("BOTH"):
            return "refused"
        if not self.verdicts:
            return "fails"
        binary = list(self.verdicts.values())[-1]
        return {"IDENTICAL": "identical", "EQUIVALENT": "equivalent"}.get(binary, "different")


class Cell(Record, frozen=True):
    """One pair of pins: indices into the two lists, and what each probe showed."""

    reference: int
    candidate: int
    probes: tuple[Probe, ...]


class Matrix(Record, frozen=True):
    """The whole: pins of both sides, and a cell for each pair of which both can be used."""

    started: str
    cases: tuple[str, ...]
    references: tuple[Pin, ...]
    candidates: tuple[Pin, ...]
    cells: tuple[Cell, ...]


def load(path: Path) -> Matrix | None:
    """The matrix in a file, or None if there is none; raises HarnessError if it is malformed."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Matrix)
    except FileNotFoundError:
        return None
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise HarnessError(str(path), f"no matrix: {error}", "delete it") from error
