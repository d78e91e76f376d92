"""Real libraries made on the spot: the null plugin, and others that do not fit on purpose."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.model import ToolchainIdentity
from harness.toolchains import Toolchain, cache_root, declared, ensure, find_descriptor, identify
from harness.toolchains import overlaid as lay
from harness.toolchains.override import planned

SOURCE = Path(__file__).resolve().parents[2] / "plugins" / "null" / "null.c"
Build = Callable[..., Path]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Compile the null plugin for a Triton, or any C text in its place."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")

    def compiled(name: str, *options: str, triton: str = "3.8.0", source: str = "") -> Path:
        folder = tmp_path_factory.mktemp("built")
        text = folder / f"{name}.c"
        text.write_text(source or SOURCE.read_text())
        library = folder / f"{name}.so"
        version = f'-DTRITON_VERSION="{triton}"'
        command = [compiler, "-shared", "-fPIC", version, *options, "-o", library, text]
        subprocess.run(command, check=True)
        return library

    return compiled


@pytest.fixture(scope="session")
def upstream() -> Toolchain:
    return ensure("upstream")


@pytest.fixture(scope="session")
def three(upstream: Toolchain, made_null: None) -> Toolchain:
    """Upstream with three plugins at once: the null one and both that its own wheel ships."""
    names = ("null", "triton-test-passes", "triton-test-dialect")
    return lay(upstream, [find_descriptor(name) for name in names])


@pytest.fixture(scope="session")
def made_null() -> None:
    """What ``make plugins`` makes."""
    if shutil.which("make") is None or shutil.which("cc") is None:
        pytest.skip("no make or no C compiler")
    subprocess.run(["make", "-s", "plugins"], cwd=SOURCE.parents[2], check=True)


@pytest.fixture(scope="session")
def of_three(three: Toolchain) -> ToolchainIdentity:
    return identify(three)


@pytest.fixture(params=["3.7.1", "3.9.0"])
def other_triton(request: pytest.FixtureRequest) -> Toolchain:
    """Upstream in another version, if it has been made: it takes 250 MB from the network."""
    requirement = f"triton=={request.param}"
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    plan = planned(declared().role("upstream"), requirement)
    if not (cache_root() / "toolchains" / f"upstream-{plan.digest(python)}").exists():
        pytest.skip(f"not made: tlx-equiv toolchains sync --toolchain upstream={requirement}")
    return ensure("upstream", requirement)
