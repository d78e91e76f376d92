"""Fixtures that the suites share: the pinned toolchains, and corpora made on the spot."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness import toolchains
from harness.template import write_template

Write = Callable[..., Path]


@pytest.fixture(scope="session")
def fork() -> toolchains.Toolchain:
    return toolchains.ensure("fork")


@pytest.fixture(scope="session")
def plugin() -> toolchains.Toolchain:
    return toolchains.ensure("plugin")


@pytest.fixture
def write_kernel(tmp_path: Path) -> Write:
    """Write a kernel folder: the template, with another kernel.py or replacements in it."""

    def write(
        name: str,
        source: str | None = None,
        replace: dict[str, str] | None = None,
        case_replace: dict[str, str] | None = None,
        targets: str = '("cuda:90",)',
    ) -> Path:
        folder = write_template(tmp_path / "kernels", name)
        kernel, case = folder / "kernel.py", folder / "case.py"
        text = source if source is not None else kernel.read_text()
        for old, new in (replace or {}).items():
            assert old in text
            text = text.replace(old, new)
        kernel.write_text(text)
        text = case.read_text().replace('("cuda:90", "hip:gfx950")', targets)
        for old, new in (case_replace or {}).items():
            assert old in text
            text = text.replace(old, new)
        case.write_text(text)
        return folder.parent

    return write
