"""Bundles of small cases whose "binaries" name functions of ``host_launcher``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.case import Kernel
from harness.parity.build import Compiled, write_bundle
from harness.store import Store

# The tests and the worker processes import host_launcher by its name, the tests sample too.
HERE = str(Path(__file__).parent)
if HERE not in sys.path:
    sys.path.insert(0, HERE)

import sample  # noqa: E402


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def compiled(store: Store) -> Callable[..., Compiled]:
    """``compiled(name, fork, plugin)``: a case whose sides run these host functions."""

    def make(name: str, fork: str, plugin: str, kernel: Kernel = sample.KERNEL) -> Compiled:
        case = sample.make_case(name, kernel.specs[0])
        sides = {
            role: sample.compile_as(store, case, role, function.encode())
            for role, function in (("fork", fork), ("plugin", plugin))
        }
        return case, kernel.specs[0], kernel, sides

    return make


@pytest.fixture
def bundle_of(store: Store, tmp_path: Path) -> Callable[..., Path]:
    """``bundle_of(*cases)``: the path of a bundle of compiled cases."""

    def make(*cases: Compiled) -> Path:
        path = tmp_path / "parity.tar"
        write_bundle(cases, store, path, {})
        return path

    return make
