"""The history: nights in one sqlite file, safe under concurrent writers.

A night is stored as its JSON, the cases apart and only once for all nights in which they are
the same. The views ``verdicts`` and ``measures`` show them as tables to whoever opens the file
with sqlite. ``PRAGMA user_version`` counts the migrations that have been made.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import msgspec

from harness.errors import HarnessError
from harness.night import CaseFacts, Night

BUSY = 60.0  # seconds to wait for another writer
# Each migration brings a file from the version that is its index to the next one.
MIGRATIONS = (
    """
    CREATE TABLE night (
        id TEXT PRIMARY KEY, channel TEXT NOT NULL, reference TEXT NOT NULL,
        candidate TEXT NOT NULL, lane TEXT NOT NULL, started TEXT NOT NULL,
        gpu INTEGER NOT NULL, evidence INTEGER NOT NULL DEFAULT 1, record TEXT NOT NULL
    );
    CREATE INDEX night_series ON night (channel, reference, candidate, lane, started);
    CREATE TABLE facts (digest TEXT PRIMARY KEY, case_id TEXT NOT NULL, record TEXT NOT NULL);
    CREATE INDEX facts_case ON facts (case_id);
    CREATE TABLE night_facts (
        night TEXT NOT NULL REFERENCES night, place INTEGER NOT NULL,
        facts TEXT NOT NULL REFERENCES facts, PRIMARY KEY (night, place)
    ) WITHOUT ROWID;
    CREATE VIEW verdicts AS
        SELECT n.id AS night, n.started, n.channel, n.lane, f.case_id,
            json_extract(s.value, '$.stage') AS stage,
            json_extract(s.value, '$.verdict') AS verdict,
            json_extract(s.value, '$.fingerprint') AS fingerprint,
            json_extract(s.value, '$.status') AS status,
            json_extract(f.record, '$.attributions[0]') AS attribution,
            json_extract(n.record, '$.toolchains."' || n.reference || '".fingerprint')
                AS reference_fingerprint,
            json_extract(n.record, '$.toolchains."' || n.candidate || '".fingerprint')
                AS candidate_fingerprint
        FROM night n JOIN night_facts nf ON nf.night = n.id JOIN facts f ON f.digest = nf.facts,
            json_each(f.record, '$.stages') s;
    CREATE VIEW measures AS
        SELECT n.id AS night, n.started, n.channel, n.lane, f.case_id, s.key AS role,
            json_extract(s.value, '$.outcome') AS outcome,
            json_extract(s.value, '$.seconds') AS seconds,
            json_extract(s.value, '$.registers') AS registers,
            json_extract(s.value, '$.spills') AS spills,
            json_extract(s.value, '$.stack') AS stack,
            json_extract(s.value, '$.shared') AS shared,
            json_extract(s.value, '$.instructions') AS instructions,
            coalesce(json_extract(s.value, '$.sizes.cubin'),
                json_extract(s.value, '$.sizes.hsaco')) AS binary_bytes,
            json_extract(f.record, '$.speed.ratio') AS speed_ratio
        FROM night n JOIN night_facts nf ON nf.night = n.id JOIN facts f ON f.digest = nf.facts,
            json_each(f.record, '$.sides') s;
    """,
)


class History:
    """A history file, made if it is absent; a context manager that closes it.

    Raises HarnessError for a file that is none, is of a later version, or cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        with self._speaking():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(self.path, timeout=BUSY, isolation_level=None)
        try:
            self._prepare()
        except BaseException:
            self._database.close()
            raise

    def __enter__(self) -> History:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._database.close()

    def record(self, night: Night) -> bool:
        """Keep ``night``; False, and nothing changes, if it is there already."""
        with self._writing():
            return self._insert(night)

    def merge(self, other: History) -> int:
        """Take in every night of ``other``; returns how many were new here.

        Merging is idempotent, and its result does not depend on the order. A night whose
        evidence either file still keeps, keeps it.
        """
        added = 0
        with self._writing():
            for night_id, evidence in other._database.execute("SELECT id, evidence FROM night"):
                added += self._insert(other._load(night_id, {}), evidence)
                if evidence:
                    self._database.execute("UPDATE night SET evidence = 1 WHERE id = ?", [night_id])
        return added

    def series(self) -> list[tuple[str, str, str, str]]:
        """The series that there are nights of: channel, reference, candidate, lane."""
        with self._speaking():
            found = self._database.execute(
                "SELECT DISTINCT channel, reference, candidate, lane FROM night ORDER BY 1, 2, 3, 4"
            )
            return [tuple(row) for row in found]

    def nights(
        self, series: tuple[str, str, str, str], before: str = "~", most: int = 60
    ) -> list[Night]:
        """The last ``most`` nights of a series that started before a time, the latest last.

        Of several records of one start (as when a GPU's results joined it later), the one with
        the most GPU results, and then the most cases, counts.
        """
        query = """
            SELECT id FROM (
                SELECT id, started, row_number() OVER (PARTITION BY started ORDER BY gpu DESC,
                    (SELECT count(*) FROM night_facts f WHERE f.night = n.id) DESC, id) AS rank
                FROM night n
                WHERE channel = ? AND reference = ? AND candidate = ? AND lane = ? AND started < ?
            ) WHERE rank = 1 ORDER BY started DESC LIMIT ?"""
        with self._speaking():
            found = self._database.execute(query, [*series, before, most]).fetchall()
            known: dict[str, CaseFacts] = {}
            return [self._load(night_id, known) for (night_id,) in reversed(found)]

    def references(self) -> list[Reference]:
        """What every night refers to in the store, the oldest first."""
        with self._speaking():
            nights = self._database.execute(
                "SELECT id, channel, reference, candidate, lane, started, evidence FROM night"
                " ORDER BY started, id"
            ).fetchall()
            keys: dict[str, dict[str, tuple[str, ...]]] = {}
            for night_id, case_id, sides in self._database.execute(
                "SELECT nf.night, f.case_id, json_extract(f.record, '$.sides')"
                " FROM night_facts nf JOIN facts f ON f.digest = nf.facts"
            ):
                found = msgspec.json.decode(sides, type=dict[str, _Keyed])
                keys.setdefault(night_id, {})[case_id] = tuple(s.key for s in found.values())
        return [
            Reference(night_id, started, tuple(series), bool(evidence), keys.get(night_id, {}))
            for night_id, *series, started, evidence in nights
        ]

    def let_go(self, nights: list[str]) -> None:
        """Note that these nights refer to the store no more; their verdicts stay."""
        with self._writing():
            self._database.executemany(
                "UPDATE night SET evidence = 0 WHERE id = ?", [(night,) for night in nights]
            )

    def _insert(self, night: Night, evidence: int = 1) -> bool:
        night_id = night.id
        gpu = sum(facts.stage("parity") is not None for facts in night.cases)
        record = msgspec.json.encode(msgspec.structs.replace(night, cases=())).decode()
        values = [night_id, *night.series, night.started, gpu, evidence, record]
        marks = ", ".join("?" * len(values))
        inserted = self._database.execute(
            "INSERT OR IGNORE INTO night (id, channel, reference, candidate, lane, started, gpu,"
            f" evidence, record) VALUES ({marks})",
            values,
        )
        if not inserted.rowcount:
            return False
        for place, facts in enumerate(night.cases):
            text = msgspec.json.encode(facts)
            digest = hashlib.sha256(text).hexdigest()
            self._database.execute(
                "INSERT OR IGNORE INTO facts VALUES (?, ?, ?)", [digest, facts.case, text.decode()]
            )
            self._database.execute(
                "INSERT INTO night_facts VALUES (?, ?, ?)", [night_id, place, digest]
            )
        return True

    def _load(self, night_id: str, known: dict[str, CaseFacts]) -> Night:
        """A night; facts that it shares with others, by digest, are read once."""
        (record,) = self._database.execute(
            "SELECT record FROM night WHERE id = ?", [night_id]
        ).fetchone()
        found = self._database.execute(
            "SELECT facts FROM night_facts WHERE night = ? ORDER BY place", [night_id]
        )
        digests = [digest for (digest,) in found]
        for digest in digests:
            if digest not in known:
                (text,) = self._database.execute(
                    "SELECT record FROM facts WHERE digest = ?", [digest]
                ).fetchone()
                known[digest] = msgspec.json.decode(text, type=CaseFacts)
        return msgspec.structs.replace(
            msgspec.json.decode(record, type=Night),
            cases=tuple(known[digest] for digest in digests),
        )

    def _prepare(self) -> None:
        with self._speaking():
            self._database.execute("PRAGMA foreign_keys = ON")
            self._database.execute("PRAGMA synchronous = NORMAL")  # with WAL, enough never to tear
            (version,) = self._database.execute("PRAGMA user_version").fetchone()
        if version == len(MIGRATIONS):
            return
        if version > len(MIGRATIONS):
            raise HarnessError(
                f"history {self.path}",
                f"is of version {version}, made by a later tlx-equiv",
                "use that one, or another file with --history FILE",
            )
        with self._speaking():
            self._database.execute("PRAGMA journal_mode = WAL")
        with self._writing():
            # Another process may have made some meanwhile: look again, now that we are alone.
            (version,) = self._database.execute("PRAGMA user_version").fetchone()
            for number, script in enumerate(MIGRATIONS[version:], version + 1):
                for statement in script.split(";"):
                    self._database.execute(statement)
                self._database.execute(f"PRAGMA user_version = {number}")

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """A transaction that no other writer interleaves with; all of it or nothing."""
        with self._speaking():
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")

    @contextlib.contextmanager
    def _speaking(self) -> Iterator[None]:
        """Turns what sqlite and the file system say into a HarnessError."""
        try:
            yield
        except (sqlite3.Error, msgspec.MsgspecError, OSError) as error:
            raise HarnessError(
                f"history {self.path}",
                str(error),
                "name a writable history file with --history FILE; run.json has the results",
            ) from error


class Reference(msgspec.Struct, frozen=True):
    """What one night refers to in the store: each case's keys of compilations.

    ``evidence``: it still does; prune may have let it go.
    """

    night: str
    started: str
    series: tuple[str, ...]
    evidence: bool
    keys: dict[str, tuple[str, ...]]


class _Keyed(msgspec.Struct):
    key: str
