"""Real artifacts of both sides, kept compressed; see data/README.md."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

DATA = Path(__file__).parent / "data"
Artifact = Callable[[str], bytes]


@pytest.fixture(scope="session")
def artifact() -> Artifact:
    """The bytes of ``kernel.side.stage``."""

    def read(name: str) -> bytes:
        return gzip.decompress((DATA / f"{name}.gz").read_bytes())

    return read


@pytest.fixture(scope="session")
def text(artifact: Artifact) -> Callable[[str], str]:
    """The text of ``kernel.side.stage``."""
    return lambda name: artifact(name).decode()
