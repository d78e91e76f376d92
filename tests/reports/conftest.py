"""A recorded run of real kernels (see record.py) and its report."""

import gzip
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from harness.model import CaseResult, Run
from harness.store import Store
from reports import write_report

sys.path.insert(0, str(Path(__file__).parent))
from pages import Page

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def run() -> Run:
    return msgspec.json.decode(gzip.decompress((DATA / "run.json.gz").read_bytes()), type=Run)


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    root = tmp_path_factory.mktemp("data") / "store"
    shutil.copytree(DATA / "store", root)
    return Store(root)


@pytest.fixture(scope="session")
def report(run: Run, store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report's folder."""
    return write_report(run, store, tmp_path_factory.mktemp("report")).parent


@pytest.fixture(scope="session")
def index(report: Path) -> Page:
    return Page((report / "index.html").read_text())


@pytest.fixture(scope="session")
def result_of(run: Run) -> Callable[[str], CaseResult]:
    """The recorded result of the only case whose id starts with some text."""

    def find(start: str) -> CaseResult:
        (found,) = [result for result in run.results if result.case.id.startswith(start)]
        return found

    return find


@pytest.fixture(scope="session")
def page_of(report: Path) -> Callable[[str], Page]:
    """A kernel's page, by the kernel's id."""

    def read(kernel: str) -> Page:
        return Page((report / "kernel" / f"{kernel.replace('/', '.')}.html").read_text())

    return read
