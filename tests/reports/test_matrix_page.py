"""The version matrix: a heat map, why versions cannot be used, and the same as Markdown."""

from pathlib import Path

import msgspec
from pages import Page

from harness.matrix import Matrix
from harness.result import Run
from harness.store import Store
from reports import write_matrix, write_report


def rows(page: Page, section: str) -> dict[str, list[str]]:
    """The text of the cells of a section's table, by the head of the row."""
    source = page.source.partition(f'id="{section}"')[2].partition("</section>")[0]
    table = Page(source[source.index("<table") : source.index("</table>") + 8])
    found: dict[str, list[str]] = {}
    for element in table.elements:
        if element.tag == "th" and element.attributes.get("scope") == "row":
            head = found.setdefault(element.text, [])
        elif element.tag == "td":
            head.append(element.text)
    return found


def test_each_probe_of_each_pair_is_a_tile_with_its_words(report: Path):
    page = Page((report / "matrix.html").read_text())
    assert rows(page, "h-pairs") == {"3.8.0.post3": ["BER"], "3.8.0.post16": ["Bbg"]}
    tiles = [tile for tile in page.all("span") if "title" in tile.attributes]
    assert tiles[1].attributes["title"] == "2. dots/two@cuda:90: a side fails: ERROR(plugin)"
    assert "dp-failed" in tiles[1].attributes["class"]
    assert tiles[5].attributes["title"].endswith("equal after rules down to ttgir")
    assert "after-rules" in tiles[5].attributes["class"]


def test_each_version_says_whether_it_can_be_used_and_what_it_compiles(report: Path):
    versions = rows(Page((report / "matrix.html").read_text()), "h-versions")
    assert versions["fork 3.7.4"] == ["3.7.4+fb", "3 of 3", ""]
    assert versions["plugin 3.8.0.post2"] == ["", "not usable", "does not bring its module"]
    assert versions["plugin 3.8.0.post3"] == ["", "1 of 3", "2 × make_ttir: no such op"]


def test_the_index_and_the_page_lead_to_each_other(
    report: Path, run: Run, store: Store, matrix: Matrix, tmp_path: Path
):
    links = [a.attributes["href"] for a in Page((report / "index.html").read_text()).all("a")]
    assert "matrix.html" in links
    back = [a.attributes["href"] for a in Page((report / "matrix.html").read_text()).all("a")]
    assert "index.html" in back
    alone = Page(write_matrix(matrix, tmp_path / "alone").read_text())
    assert "index.html" not in [a.attributes["href"] for a in alone.all("a")]
    index = write_report(run, store, tmp_path / "without")
    assert "matrix.html" not in index.read_text()


def test_hostile_text_stays_text(matrix: Matrix, tmp_path: Path):
    evil = "<script>x</script>"
    pins = [
        msgspec.structs.replace(pin, version=evil, problem=pin.problem and evil)
        for pin in matrix.candidates
    ]
    hostile = msgspec.structs.replace(
        matrix, command=evil, started=evil, cases=(evil,) * 3, candidates=tuple(pins)
    )
    page = write_matrix(hostile, tmp_path)
    assert evil not in page.read_text()
    Page(page.read_text())


def test_the_markdown_has_a_letter_for_each_probe(matrix: Matrix, tmp_path: Path):
    write_matrix(matrix, tmp_path, tmp_path / "matrix.md")
    lines = (tmp_path / "matrix.md").read_text().splitlines()
    assert "| plugin 3.8.0.post3 | `BER` |" in lines
    assert "| plugin 3.8.0.post16 | `Bbg` |" in lines
    assert "2. `dots/two@cuda:90`" in lines
    assert r"| fork 3.7.9 |  | not usable | uv: no version \| of it |" in lines
