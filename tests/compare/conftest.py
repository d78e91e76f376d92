"""Real artifacts of both toolchains, kept in ``data``."""

from collections.abc import Callable
from pathlib import Path

import pytest

DATA = Path(__file__).parent / "data"
Pair = Callable[[str, str], tuple[bytes, bytes]]


@pytest.fixture(scope="session")
def pair() -> Pair:
    """``pair(case, stage)``: what the fork and the plugin made."""

    def read(case: str, stage: str) -> tuple[bytes, bytes]:
        fork, plugin = (DATA / case / f"{side}.{stage}" for side in ("fork", "plugin"))
        return fork.read_bytes(), plugin.read_bytes()

    return read
