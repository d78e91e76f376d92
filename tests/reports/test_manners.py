"""Every page: one file, no network, a policy that holds, and markup that assistive tools walk."""

import base64
import hashlib
import itertools
import re
from pathlib import Path

import pytest
from pages import Page

LOADING = {"link", "iframe", "object", "embed", "img", "audio", "video", "source", "base", "frame"}


@pytest.fixture(
    params=[
        "index.html",
        "kernel/dots.pipelined_gemm.html",
        "kernel/clusters.cluster_shift.html",
        "kernel/baseline.vector_add.html",
        "matrix.html",
    ]
)
def page(request: pytest.FixtureRequest, report: Path) -> Page:
    return Page((report / request.param).read_text())


def sources(policy: str) -> dict[str, list[str]]:
    found = {}
    for directive in policy.split(";"):
        name, *values = directive.split()
        found[name] = values
    return found


def test_the_policy_allows_this_script_and_this_style_and_nothing_else(page):
    (meta,) = [m for m in page.all("meta") if "http-equiv" in m.attributes]
    assert meta.attributes["http-equiv"] == "Content-Security-Policy"
    assert page.elements.index(meta) < page.elements.index(page.all("style")[0])
    policy = sources(meta.attributes["content"])
    assert policy["default-src"] == ["'none'"]
    for tag in ("script", "style"):
        (inline,) = page.all(tag)
        digest = base64.b64encode(hashlib.sha256(inline.text.encode()).digest()).decode()
        assert policy[f"{tag}-src"] == [f"'sha256-{digest}'"]
    assert "unsafe" not in meta.attributes["content"]


def test_nothing_is_loaded(page):
    assert not [e for e in page.elements if e.tag in LOADING]
    for element in page.elements:
        assert "src" not in element.attributes
        assert "style" not in element.attributes
        assert not [name for name in element.attributes if name.startswith("on")]
        for name in ("href", "action", "formaction", "xlink:href"):
            assert not re.match(r"[a-z]+:|//", element.attributes.get(name, ""))
    (style,) = page.all("style")
    assert "url(" not in style.text
    assert "@import" not in style.text


def test_nothing_moves(page):
    (style,) = page.all("style")
    assert not re.search(r"animation|transition|@keyframes", style.text)
    assert not page.all("marquee") + page.all("animate") + page.all("animateTransform")


def test_ids_are_unique(page):
    assert len(page.ids) == len(set(page.ids))


def test_headings_go_down_one_level_at_a_time(page):
    levels = [int(e.tag[1]) for e in page.elements if re.fullmatch(r"h[1-6]", e.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    for above, below in itertools.pairwise(levels):
        assert below <= above + 1


def test_tables_have_captions_or_headings_and_scopes(page):
    for heading in page.all("th"):
        assert heading.attributes.get("scope") in ("col", "row", "rowgroup"), heading
    inside = [e for e in page.elements if "table" in e.path]
    assert len(page.all("table")) <= sum(e.tag == "thead" for e in inside)
    for row in page.all("tbody"):
        assert "table" in row.path


def test_wide_tables_scroll_in_their_own_box(page):
    assert len(page.all("div", class_="scroll")) >= len(page.all("table"))


def test_the_language_the_title_and_the_landmarks_are_there(page):
    assert page.all("html")[0].attributes["lang"] == "en"
    assert page.all("title")[0].text.strip()
    assert len(page.all("main")) == 1
    assert page.all("a", class_="skip")[0].attributes["href"] == "#main"


def test_colours_follow_the_reader_and_the_printer(page):
    style = page.all("style")[0].text
    assert "prefers-color-scheme: dark" in style
    assert "@media print" in style


def test_colour_is_never_the_only_sign(page):
    for mark in page.all("span", class_="v") + page.all("a", class_="tile"):
        assert mark.text.strip()
