"""Working folders of children: in memory where there is much of it, else on the store's disk.

Compilers write dozens of small files that nobody keeps. On ext4 making and removing them takes
15 % of a cold run (inodes removed in the last seconds are searched through for each new one).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from harness.errors import HarnessError
from harness.store import Store, digest

MEMORY = Path("/dev/shm")  # Linux's file system in memory, writable by all
ROOM = 8 << 30  # bytes free there, far more than children use, or it is left alone


@contextlib.contextmanager
def scratch(store: Store) -> Iterator[Path]:
    """A private folder for one child, removed afterwards.

    Raises HarnessError where none can be made (read-only, disk full).
    """
    memory = _in_memory()
    parent = (memory if memory and _roomy() else store.root) / "scratch"
    try:
        parent.mkdir(exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=parent, prefix=_prefix(store)))
    except OSError as error:
        raise HarnessError(
            f"scratch folder below {parent}",
            f"cannot be made: {error.strerror}",
            "free some space or give a writable folder with --store DIR",
        ) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def left_behind(store: Store) -> Iterator[Path]:
    """The store's folders that are there now: in use, or left by runs that were killed."""
    for root in filter(None, (store.root, _in_memory())):
        yield from (root / "scratch").glob(f"{_prefix(store)}*")


def _prefix(store: Store) -> str:
    """What tells the folders of one store from another's, where all are in memory."""
    return f"{digest(os.fsencode(store.root))[:16]}-"


def _in_memory() -> Path | None:
    """A folder of this user's alone in ``MEMORY``, or None if there can be none."""
    folder = MEMORY / f"tlx-equiv-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        # Anybody may make a folder, or a link to one, of that name there.
        return folder if folder.lstat().st_uid == os.getuid() else None
    except OSError:
        return None


def _roomy() -> bool:
    free = os.statvfs(MEMORY)
    return free.f_bavail * free.f_frsize >= ROOM
