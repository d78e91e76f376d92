"""A recorded run of real kernels (see record.py) and its report."""

import gzip
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from harness.matrix import Attempt, Cell, Matrix, Pin, Probe
from harness.result import CaseResult, Run
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
def matrix() -> Matrix:
    """A small version matrix: two forks, of which one cannot be used, against three others."""
    cases = ("baseline/one@cuda:90", "dots/two@cuda:90", "amd/three@hip:gfx950")
    ok, fails = Attempt("OK"), Attempt("ERROR", "make_ttir: no such op")
    pins = dict.fromkeys(cases, ok)
    equal = {"ttir": "IDENTICAL", "ttgir": "EQUIVALENT", "llir": "DIFFERENT"}
    depths = [
        ("OK", {**equal, "ptx": "IDENTICAL", "cubin": "IDENTICAL"}),
        ("OK", {**equal, "ptx": "DIFFERENT", "cubin": "EQUIVALENT"}),
        ("OK", {**equal, "amdgcn": "DIFFERENT", "hsaco": "DIFFERENT"}),
    ]
    same = [Probe(case, *depth) for case, depth in zip(cases, depths, strict=True)]
    broken = [same[0], Probe(cases[1], "ERROR(plugin)", {}), Probe(cases[2], "BOTH ERROR", {})]
    return Matrix(
        started="2026-12-01T10:00:00+00:00",
        command="tlx-equiv matrix",
        cases=cases,
        references=(
            Pin("fork", "3.7.4", "fbtriton==3.7.4", triton="3.7.4+fb", probes=pins),
            Pin("fork", "3.7.9", "fbtriton==3.7.9", problem="uv: no version | of it"),
        ),
        candidates=(
            Pin("plugin", "3.8.0.post2", "...", problem="does not bring its module"),
            Pin("plugin", "3.8.0.post3", "...", probes={**pins, cases[1]: fails, cases[2]: fails}),
            Pin("plugin", "3.8.0.post16", "...", triton="3.8.0", probes=pins),
        ),
        cells=(Cell(0, 1, tuple(broken)), Cell(0, 2, tuple(same))),
    )


@pytest.fixture(scope="session")
def report(
    run: Run, store: Store, matrix: Matrix, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The report's folder."""
    return write_report(run, store, tmp_path_factory.mktemp("report"), matrix=matrix).parent


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
