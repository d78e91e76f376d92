"""What the tests of versions share: the pinned versions, and one that is not pinned."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import corpus as corpora
from harness.model import Case
from harness.store import Store
from harness.template import write_template
from harness.toolchains import declared
from harness.toolchains.published import subject

# The GEMM's difference from the fork is another one from post14 on. The only environment that
# these tests make besides the pinned ones.
OLDER = "3.8.0.post13"


@pytest.fixture(scope="session")
def pinned() -> dict[str, str]:
    """The pinned version of each role."""
    return {
        name: role.pins[subject(role)].partition("==")[2].split()[0]
        for name, role in declared().roles.items()
    }


@pytest.fixture(scope="session")
def older() -> str:
    return OLDER


@pytest.fixture(scope="session")
def kernels(tmp_path_factory) -> Path:
    """A corpus of one kernel that uses TLX."""
    root = tmp_path_factory.mktemp("versions") / "kernels"
    write_template(root, "good")
    return root


@pytest.fixture(scope="session")
def probes(kernels: Path) -> tuple[Case, ...]:
    return corpora.load([kernels]).select((), ("cuda:90",))


@pytest.fixture(scope="session")
def store(tmp_path_factory) -> Store:
    return Store(tmp_path_factory.mktemp("versions") / "store")
