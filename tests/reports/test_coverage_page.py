"""The page of TLX names: who has each, how it is called, and what exercises it where."""

import msgspec
import pytest
from pages import Page

from harness.result import NameCoverage, NameUse
from reports import html, write_report
from reports.view import build

BOTH = {"fork": "(buffer)", "plugin": "(buffer)"}


@pytest.fixture(scope="module")
def names(run):
    case = run.results[0].case.id
    refused = {"plugin": "op <x> not registered"}
    return (
        NameCoverage(
            "used",
            "function",
            BOTH,
            (
                NameUse("cuda:90", (case,), ("fork", "plugin")),
                NameUse("hip:gfx950", (case,), ("fork",), refused),
            ),
        ),
        NameCoverage("idle", "function", BOTH),
        NameCoverage("other", "function", {"fork": "(a)", "plugin": "(a, b=None)"}),
        NameCoverage(
            "mine", "function", {"plugin": "(x)"}, (NameUse("cuda:90", (case,), ("plugin",)),)
        ),
        NameCoverage(
            "bad", "class", BOTH, (NameUse("cuda:90", (case,), (), {"fork": "no", **refused}),)
        ),
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


def test_each_target_counts_the_names_of_both_sides_by_what_is_known(page):
    assert row(page, "cuda:90") == "cuda:90 1 0 1 2"
    assert row(page, "hip:gfx950") == "hip:gfx950 0 1 0 3"


def test_a_name_shows_its_side_its_signatures_its_cases_and_its_refusals(page, run):
    assert run.results[0].case.id in row(page, "used")
    assert row(page, "used").startswith("usedfunction both ● ◐")
    assert "plugin on hip:gfx950: op <x> not registered" in row(page, "used")
    assert "both ? ?" in row(page, "idle")
    assert "fork (a)plugin (a, b=None)" in row(page, "other")
    assert "plugin only ● ?" in row(page, "mine")
    assert "both × ?" in row(page, "bad")


def test_the_index_leads_there_only_if_it_was_measured(run, store, names, tmp_path):
    with_names = msgspec.structs.replace(run, coverage=names)
    without = msgspec.structs.replace(run, coverage=())
    for folder, measured in ((tmp_path / "a", with_names), (tmp_path / "b", without)):
        index = write_report(measured, store, folder)
        links = [a.attributes["href"] for a in Page(index.read_text()).all("a")]
        assert ("coverage.html" in links) == (measured is with_names)
        assert (folder / "coverage.html").exists() == (measured is with_names)
