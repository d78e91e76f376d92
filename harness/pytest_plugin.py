"""The pytest plugin: corpora are collected as tests (see ``harness.pytest_items``).

Corpora are named by the ini option ``tlx_corpus`` or ``--tlx-corpus``; their ``case.py`` files
and ``expected.toml`` are collected wherever pytest looks. Where neither is given the plugin
does nothing, and imports nothing.
"""

from __future__ import annotations

from pathlib import Path

import pytest

_ROOTS = pytest.StashKey[tuple[Path, ...]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Our options, all named ``--tlx-...``."""
    group = parser.getgroup("tlx-equiv", "equivalence of TLX kernels")
    add = group.addoption
    add("--tlx-corpus", action="append", metavar="DIR", help="a folder of kernels")
    add("--tlx-target", action="append", metavar="T", help="only this target, e.g. cuda:90")
    add("--tlx-lane", default="controlled", help="controlled (default) or shipped")
    add("--tlx-store", metavar="DIR", help="where artifacts are kept (default: the cache)")
    for name, value in (("toolchain", "ROLE=WHERE"), ("plugin", "NAME|FILE")):
        words = f"as --{name} of `tlx-equiv run`"
        add(f"--tlx-{name}", action="append", metavar=value, help=words)
    add("--tlx-sides", default="fork:plugin", metavar="REFERENCE:CANDIDATE", help="likewise")
    parser.addini("tlx_corpus", "folders of kernels", type="paths", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Note where the corpora are, and the mark of the tests that launch kernels."""
    config.addinivalue_line("markers", "gpu: needs a GPU and launches kernels on it")
    named = config.getoption("--tlx-corpus") or config.getini("tlx_corpus")
    config.stash[_ROOTS] = tuple(Path(path).resolve() for path in named)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.File | None:
    """Collect the case files and ledgers below a corpus root."""
    roots = parent.config.stash[_ROOTS]
    if file_path.suffix not in (".py", ".toml") or not roots:
        return None
    if not any(file_path.resolve().is_relative_to(root) for root in roots):
        return None
    from harness import pytest_items

    return pytest_items.collect(file_path, parent, roots)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the workers, if any were started."""
    if config.stash.get(_ROOTS, ()):
        from harness import pytest_items

        pytest_items.close(config)
