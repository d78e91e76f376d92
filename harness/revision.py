"""Which code decided: a hash of Python sources, so that nothing stale passes for new."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from types import ModuleType


@cache
def revision(*packages: ModuleType) -> str:
    """The sha256 of all Python sources of ``packages``, wherever they are installed."""
    sources = [
        path
        for package in packages
        for path in sorted(Path(str(package.__file__)).parent.rglob("*.py"))
    ]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
