"""The real toolchains, made once in the default cache and shared by every test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.toolchains import Toolchain, ensure


@pytest.fixture(scope="session")
def fork() -> Toolchain:
    return ensure("fork")


@pytest.fixture(scope="session")
def plugin() -> Toolchain:
    return ensure("plugin")


@pytest.fixture(scope="session")
def upstream() -> Toolchain:
    return ensure("upstream")


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Path]:
    """A folder that is removed afterwards: copies of compilers are large."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def small(upstream: Toolchain, scratch: Path) -> Toolchain:
    """A plugin toolchain of its own, cheap to make: upstream's compiler by overlay, and the
    plugin, which may be damaged at will."""
    return ensure("plugin", str(upstream.site_packages), cache=scratch)
