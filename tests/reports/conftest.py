"""A recorded run of real kernels (see record.py), its report, and a reader of pages."""

import dataclasses
import gzip
import html.parser
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from harness.model import CaseResult, Run
from harness.store import Store
from reports import write_report

DATA = Path(__file__).parent / "data"
VOID = {"meta", "link", "input", "br", "img", "hr", "wbr"}


@dataclasses.dataclass
class Element:
    """An element of a page: what a reader of the source sees, nothing resolved."""

    tag: str
    attributes: dict[str, str]
    path: tuple[str, ...]
    text: str = ""


class Page(html.parser.HTMLParser):
    """A page as its elements, in order; complains of anything that does not nest."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.source = source
        self.elements: list[Element] = []
        self.open: list[Element] = []
        self.feed(source)
        self.close()
        assert not self.open, f"never closed: {[element.tag for element in self.open]}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names), f"<{tag}> repeats an attribute: {names}"
        attributes = {name: value or "" for name, value in attrs}
        element = Element(tag, attributes, tuple(e.tag for e in self.open))
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.text += data

    def all(self, tag: str, **attributes: str) -> list[Element]:
        """Elements with this tag and these attributes (``class_`` for class: among them)."""

        def fits(element: Element) -> bool:
            return all(
                value in element.attributes.get("class", "").split()
                if name == "class_"
                else element.attributes.get(name) == value
                for name, value in attributes.items()
            )

        return [element for element in self.elements if element.tag == tag and fits(element)]

    @property
    def ids(self) -> list[str]:
        """Every id, in order."""
        return [e.attributes["id"] for e in self.elements if "id" in e.attributes]

    @property
    def text(self) -> str:
        """All that is to be read, scripts and styles left out; spaces made single."""
        hidden = self.all("script") + self.all("style") + self.all("title")
        body = self.all("body")[0].text
        for element in hidden:
            body = body.replace(element.text, "")
        return " ".join(body.split())


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
