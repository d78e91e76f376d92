"""Pruning: a store made smaller by age and size, without what history still refers to.

What a night refers to are the compilations of its cases, with all their artifacts and
snapshots. The newest night that has a case keeps that case's for good, in every series: the
expectations of the ledger are about these, and the next night is compared with them. Older
nights are let go, the oldest first; their verdicts stay in the history. Everything else in a
store can be made again, and goes when it has not been used for long enough.
"""

from __future__ import annotations

import contextlib
import datetime
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from harness.history import History, Reference
from harness.model import Compilation
from harness.scratch import left_behind
from harness.store import Store

DAY = 86400.0
# What was used this recently may be of a run that is being looked at, though nobody recorded it.
GRACE = DAY


class Pruned(msgspec.Struct, frozen=True):
    """What was, or with a dry run would be, removed. Sizes are bytes on disk.

    ``let_go`` are the starts of nights that no longer keep their artifacts; ``referenced`` is
    the size of what history refers to, ``over`` by how much the store is still too large.
    """

    files: int
    removed: int
    kept: int
    referenced: int
    let_go: tuple[str, ...]
    over: int


class _File(msgspec.Struct, frozen=True):
    path: Path
    size: int
    used: float


def prune(
    store: Store,
    history: History,
    now: datetime.datetime,
    max_age: float | None = None,
    max_size: int | None = None,
    dry_run: bool = False,
) -> Pruned:
    """Remove what was last used over ``max_age`` seconds ago, then the least recently used
    until the store has at most ``max_size`` bytes.

    Raises HarnessError if a run is using the store.
    """
    clock = now.timestamp()
    with store.alone():
        files = _files(store)
        nights = [reference for reference in history.references() if reference.evidence]
        bound = _bound(history.references())
        protect = _Protection(store, bound)
        let_go: list[Reference] = []
        if max_age is not None:
            horizon = now - datetime.timedelta(seconds=max_age)
            let_go = [r for r in nights if _started(r) < horizon and not _keys(r) <= bound]
        while True:
            keeping = [reference for reference in nights if reference not in let_go]
            protected = protect.of(keeping)
            gone = _unneeded(files, protected, clock, max_age, max_size)
            over = _size(files) - _size(gone) - (max_size or 0)
            rest = [reference for reference in keeping if not _keys(reference) <= bound]
            if max_size is None or over <= 0 or not rest:
                break
            let_go.append(rest[0])
        if not dry_run:
            history.let_go([reference.night for reference in let_go])
            for file in gone:
                file.path.unlink(missing_ok=True)
            _sweep(store, clock)
    return Pruned(
        files=len(gone),
        removed=_size(gone),
        kept=_size(files) - _size(gone),
        referenced=_size(file for file in files if file.path in protected),
        let_go=tuple(reference.started for reference in let_go),
        over=max(0, over) if max_size is not None else 0,
    )


class _Protection:
    """The files that keys of compilations stand for; each manifest is read once."""

    def __init__(self, store: Store, bound: Iterable[str]) -> None:
        self._store = store
        self._of_key: dict[str, set[Path]] = {}
        self._bound = self._union(bound)

    def of(self, nights: Iterable[Reference]) -> set[Path]:
        """The files that these nights refer to, and those that none may let go."""
        return self._bound | self._union(key for night in nights for key in _keys(night))

    def _union(self, keys: Iterable[str]) -> set[Path]:
        found: set[Path] = set()
        for key in keys:
            if key not in self._of_key:
                self._of_key[key] = set(self._paths(key))
            found |= self._of_key[key]
        return found

    def _paths(self, key: str) -> Iterator[Path]:
        for kind in ("compile", "again"):
            compilation = self._store.peek(kind, key, Compilation)
            if compilation is not None:
                yield self._store.manifest_path(kind, key)
                for artifact in compilation.artifacts.values():
                    yield self._store.object_path(artifact.sha256)
        yield self._store.snapshots_path(key)


def _bound(references: Iterable[Reference]) -> set[str]:
    """The keys that no night lets go: of each case in each series, those of its newest night."""
    newest = {
        (reference.series, case): keys
        for reference in references  # the oldest first
        for case, keys in reference.keys.items()
    }
    return {key for keys in newest.values() for key in keys}


def _keys(reference: Reference) -> set[str]:
    return {key for keys in reference.keys.values() for key in keys}


def _started(reference: Reference) -> datetime.datetime:
    return datetime.datetime.fromisoformat(reference.started)


def _unneeded(
    files: Iterable[_File],
    protected: set[Path],
    clock: float,
    max_age: float | None,
    max_size: int | None,
) -> list[_File]:
    """What goes: all that was not used for ``max_age``, then more until ``max_size`` is kept."""
    files = list(files)
    size = _size(files)
    gone = []
    for file in sorted(files, key=lambda file: file.used):
        idle = clock - file.used
        old = max_age is not None and idle > max_age
        large = max_size is not None and size > max_size
        if (old or large) and idle > GRACE and file.path not in protected:
            gone.append(file)
            size -= file.size
    return gone


def _files(store: Store) -> list[_File]:
    """Everything that can be removed."""
    found = []
    for path in (*store.objects(), *store.manifests(), *store.snapshot_files()):
        with contextlib.suppress(FileNotFoundError):  # a reader removes what it finds damaged
            status = path.stat()
            found.append(_File(path, status.st_size, status.st_mtime))
    return found


def _size(files: Iterable[_File]) -> int:
    return sum(file.size for file in files)


def _sweep(store: Store, clock: float) -> None:
    """Remove the working folders that killed runs left behind."""
    for folder in left_behind(store):
        if clock - folder.stat().st_mtime > GRACE:
            shutil.rmtree(folder, ignore_errors=True)
