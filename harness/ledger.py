"""The ledger: reviewed expectations, each accepting one known divergence.

A TOML file (``expected.toml`` beside the corpus) of ``[[expectation]]`` tables. An entry
applies to a case and stage if the case matches one of its patterns and the difference's
fingerprint is among those it lists for that stage; so a divergence that changes is new again.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
import tomlkit

from harness.corpus import matches
from harness.errors import HarnessError
from harness.result import LedgerProblem

ATTRIBUTIONS = (
    "frontend",
    "plugin-passes",
    "base-drift",
    "assembler",
    "debug-info",
    "unresolved",
)
GPU_STAGES = ("parity", "speed")  # judged when a GPU's results join a run, not before
STALE_ON_GPU = "stale on the GPU"


class Expectation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry. ``fingerprints`` maps a stage (or ``outcome``, ``check``, ``parity``,
    ``speed``) to those accepted."""

    id: str
    cases: tuple[str, ...]
    reason: str
    link: str
    owner: str
    expires: datetime.date
    attribution: str
    fingerprints: dict[str, tuple[str, ...]]
    cost: str = ""
    lane: str = "controlled"

    def covers(self, case_id: str, stage: str, lane: str) -> bool:
        """Whether this entry speaks of that stage of that case, whatever the fingerprint."""
        return lane == self.lane and stage in self.fingerprints and bool(self.among([case_id]))

    def among(self, cases: Iterable[str]) -> list[str]:
        """Those of ``cases`` (ids) that the entry's patterns match."""
        return [c for c in cases if any(matches(c, pattern) for pattern in self.cases)]


class Ledger:
    """All expectations of a run, and which of their fingerprints it has met so far."""

    def __init__(self, expectations: Iterable[Expectation], today: datetime.date) -> None:
        self.expectations = tuple(expectations)
        self.today = today
        self._met: set[tuple[str, str, str]] = set()

    def find(
        self, case_id: str, stage: str, fingerprint: str, lane: str
    ) -> tuple[Expectation | None, Expectation | None]:
        """The entry that accepts this difference, and else one that speaks of another there."""
        near = None
        for entry in self.expectations:
            if not entry.covers(case_id, stage, lane):
                continue
            if fingerprint in entry.fingerprints[stage]:
                self._met.add((entry.id, stage, fingerprint))
                return entry, None
            near = entry
        return None, near

    def problems(
        self, ran: Sequence[str], whole: Sequence[str], lane: str
    ) -> tuple[LedgerProblem, ...]:
        """Entries that fail: past their date, or with a fingerprint that nothing showed.

        Staleness is judged only for entries all of whose cases among ``whole`` were ``ran``.
        """
        found = []
        for entry in self.expectations:
            if entry.lane != lane:
                continue
            if entry.expires < self.today:
                found.append(
                    LedgerProblem(
                        entry.id, "expired", f"expired on {entry.expires}: review it and set a date"
                    )
                )
            mine = entry.among(whole)
            if not mine:
                found.append(
                    LedgerProblem(
                        entry.id, "unmatched", f"no case matches {list(entry.cases)}: remove it"
                    )
                )
            elif set(mine) <= set(ran):
                found += self._stale(entry, set(entry.fingerprints) - set(GPU_STAGES), "stale")
        return tuple(found)

    def gpu_problems(
        self, ran: Sequence[str], whole: Sequence[str], lane: str
    ) -> tuple[LedgerProblem, ...]:
        """Entries with a parity or speed fingerprint that no case shows any more.

        As for ``problems``, ``whole`` being the cases that could run on that kind of GPU.
        """
        found = []
        for entry in self.expectations:
            mine = entry.among(whole)
            if entry.lane == lane and mine and set(mine) <= set(ran):
                found += self._stale(entry, set(GPU_STAGES), STALE_ON_GPU)
        return tuple(found)

    def _stale(self, entry: Expectation, stages: set[str], kind: str) -> list[LedgerProblem]:
        stale = [
            f"{stage} {fingerprint}"
            for stage, fingerprints in entry.fingerprints.items()
            if stage in stages
            for fingerprint in fingerprints
            if (entry.id, stage, fingerprint) not in self._met
        ]
        if not stale:
            return []
        text = f"no case shows {', '.join(stale[:4])}"
        text += f" and {len(stale) - 4} more" if len(stale) > 4 else ""
        return [LedgerProblem(entry.id, kind, text + ": the difference is gone, remove it")]


def read(paths: Iterable[Path], today: datetime.date) -> Ledger:
    """The ledger in ``paths`` (those that exist); raises HarnessError for a malformed one."""
    entries: list[Expectation] = []
    for path in paths:
        if not path.exists():
            continue
        way_out = "mend the file; `tlx-equiv expect` writes entries of the right form"
        try:
            tables = tomlkit.parse(path.read_text()).unwrap()
            found = msgspec.convert(tables.pop("expectation", []), tuple[Expectation, ...])
        except (tomlkit.exceptions.ParseError, msgspec.ValidationError, UnicodeError) as error:
            raise HarnessError(f"ledger {path}", f"malformed: {error}", way_out) from error
        if tables:
            raise HarnessError(f"ledger {path}", f"unknown tables {sorted(tables)}", way_out)
        for entry in found:
            if any(entry.id == other.id for other in entries):
                raise HarnessError(
                    f"ledger {path}", f"two entries are called {entry.id!r}", way_out
                )
            if entry.attribution not in ATTRIBUTIONS:
                raise HarnessError(
                    f"ledger {path}, entry {entry.id}",
                    f"attribution {entry.attribution!r} is none of {', '.join(ATTRIBUTIONS)}",
                    way_out,
                )
            entries.append(entry)
    return Ledger(entries, today)


def record(path: Path, entry: Expectation) -> bool:
    """Add ``entry`` to the file, or its cases and fingerprints to the entry of that id.

    An existing entry keeps its reason, link, owner and date. Returns True if it existed.
    """
    document = tomlkit.parse(path.read_text()) if path.exists() else tomlkit.document()
    tables = document.setdefault("expectation", tomlkit.aot())
    for table in tables:
        if table["id"] != entry.id:
            continue
        for pattern in entry.cases:
            if pattern not in table["cases"]:
                table["cases"].append(pattern)
        for stage, fingerprints in entry.fingerprints.items():
            known = table["fingerprints"].setdefault(stage, tomlkit.array())
            for fingerprint in fingerprints:
                if fingerprint not in known:
                    known.append(fingerprint)
        path.write_text(tomlkit.dumps(document))
        return True
    table = tomlkit.table()
    for key, value in msgspec.to_builtins(entry, builtin_types=(datetime.date,)).items():
        if value == "" or (key == "lane" and value == "controlled"):
            continue
        table[key] = value
    tables.append(table)
    path.write_text(tomlkit.dumps(document))
    return False
