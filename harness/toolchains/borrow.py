"""Toolchains for a short time: many versions pass by, and the disk is finite."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator

from harness.toolchains.environment import Progress, Toolchain, cache_root, ensure, evict, place

ROOM = 6 << 30  # bytes that are left free on the disk of the environments


@contextlib.contextmanager
def borrowed(
    role: str, override: str | None = None, progress: Progress | None = None
) -> Iterator[Toolchain]:
    """The toolchain for ``role``, as ``ensure`` has it.

    An environment that had to be made for this is removed afterwards if less than ``ROOM`` is
    free then. What was there before may be in use, and what is pinned will be: both stay.
    """
    folder = place(role, override)
    ours = folder is not None and not folder.exists() and folder != place(role)
    toolchain = ensure(role, override, progress=progress)
    try:
        yield toolchain
    finally:
        if ours and folder is not None and shutil.disk_usage(cache_root()).free < ROOM:
            evict(folder)
