"""The page of TLX names: who has each, how it is called, and what exercises it."""

import msgspec
import pytest
from pages import Page

from harness.model import NameCoverage
from reports import html, write_report
from reports.view import build

BOTH = {"fork": "(buffer)", "plugin": "(buffer)"}


@pytest.fixture(scope="module")
def names(run):
    case = run.results[0].case
    return (
        NameCoverage("used", "function", BOTH, (case.id,), (str(case.target),)),
        NameCoverage("idle", "function", BOTH),
        NameCoverage("other", "function", {"fork": "(a)", "plugin": "(a, b=None)"}),
        NameCoverage("mine", "function", {"plugin": "(x)"}),
        NameCoverage("bad", "class", BOTH, (case.id,), (), {"plugin": "op <x> not registered"}),
    )


@pytest.fixture(scope="module")
def page(run, names):
    return Page(html.coverage_page(build(msgspec.structs.replace(run, coverage=names))))


def row(page: Page, name: str) -> str:
    (found,) = [r.text for r in page.all("tr") if r.text.strip().startswith(name)]
    return " ".join(found.split())


def test_the_figures_count_what_is_exercised_and_the_same(page):
    figures = [" ".join(item.text.split()) for item in page.all("li")]
    assert figures == [
        "1 of 4 names of both sides exercised",
        "3 of 4 called the same way on both sides",
        "0 of 5 only on fork",
        "1 of 5 only on plugin",
    ]


def test_a_name_shows_its_side_its_signatures_and_its_cases(page, run):
    assert run.results[0].case.id in row(page, "used")
    assert "both none" in row(page, "idle")
    assert "fork (a)plugin (a, b=None)" in row(page, "other")
    assert "plugin only" in row(page, "mine")
    assert "plugin compiles no case of it: op <x> not registered" in row(page, "bad")


def test_names_that_nothing_exercises_are_listed_apart(page):
    (section,) = [s for s in page.all("section") if s.attributes["aria-labelledby"] == "h-idle"]
    assert {code.text for code in page.all("code") if code.text in section.text} >= {"idle", "bad"}
    assert "used" not in section.text.replace("exercised", "")


def test_the_index_leads_there_only_if_it_was_measured(run, store, names, tmp_path):
    with_names = msgspec.structs.replace(run, coverage=names)
    without = msgspec.structs.replace(run, coverage=())
    for folder, measured in ((tmp_path / "a", with_names), (tmp_path / "b", without)):
        index = write_report(measured, store, folder)
        links = [a.attributes["href"] for a in Page(index.read_text()).all("a")]
        assert ("coverage.html" in links) == (measured is with_names)
        assert (folder / "coverage.html").exists() == (measured is with_names)
