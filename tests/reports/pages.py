"""A reader of pages: a page as its elements, nothing resolved, anything ill-formed refused."""

import dataclasses
import html.parser

import msgspec

from harness.result import CaseResult, Run
from reports import html as renderer
from reports.files import Links
from reports.view import build

VOID = {"meta", "link", "input", "br", "img", "hr", "wbr"}


@dataclasses.dataclass
class Element:
    """An element of a page: what a reader of the source sees, nothing resolved."""

    tag: str
    attributes: dict[str, str]
    path: tuple[str, ...]
    pieces: list[str] = dataclasses.field(default_factory=list, repr=False)

    @property
    def text(self) -> str:
        """All text inside."""
        return "".join(self.pieces)


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
            element.pieces.append(data)

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
        """All that is to be read, scripts left out; spaces made single."""
        body = self.all("body")[0].text
        for script in self.all("script"):
            body = body.replace(script.text, "")
        return " ".join(body.split())


def kernel_page(run: Run, *results: CaseResult, links: Links | None = None) -> Page:
    """The page of the first kernel of a run that has only these results."""
    view = build(msgspec.structs.replace(run, results=results))
    return Page(renderer.kernel_page(view, view.kernels[0], links or {}))
