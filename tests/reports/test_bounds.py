"""However much a run holds: pages under 2 MB, a summary that CI accepts, nothing cut silently."""

import time

import msgspec
import pytest
from pages import Page, kernel_page

from harness.model import Hunk
from harness.result import CaseResult, Judgement, Run, Status
from reports import html, markdown, write_report
from reports.view import build

PAGE_LIMIT = 2_000_000
CI_LIMIT = 1 << 20


def copies(result: CaseResult, count: int, kernels: int = 1) -> tuple[CaseResult, ...]:
    """``count`` cases like ``result``, spread over ``kernels`` kernels."""
    found = []
    for number in range(count):
        kernel = f"many/kernel_{number % kernels}"
        case = msgspec.structs.replace(
            result.case, id=f"{kernel}/s{number}@cuda:90", kernel=kernel, spec=f"s{number}"
        )
        found.append(msgspec.structs.replace(result, case=case))
    return tuple(found)


def swollen(result: CaseResult) -> CaseResult:
    """The result with hunks and words of every size that a page must cut."""
    line = '%1 = "<&>" : ' + "tensor<128x64xf16> " * 400
    hunk = Hunk("@f", 1, 1, (line,) * 200, (line + "x",) * 200, (line,) * 3, "layout differs")
    return msgspec.structs.replace(
        result,
        case=msgspec.structs.replace(result.case, source="# <&>\n" * 100_000),
        comparisons=tuple(
            msgspec.structs.replace(c, hunks=(hunk,) * 50, hunks_total=5000, note="<&>" * 9999)
            for c in result.comparisons
        ),
        judgements=tuple(
            Judgement(j.stage, Status.NEW, "DIFFERENT", "e" * 999, "<" * 9999)
            for j in result.judgements
        ),
    )


@pytest.mark.parametrize("count", [1, 150])
def test_a_kernels_page_stays_small_whatever_its_cases_hold(run: Run, result_of, count):
    result = swollen(result_of("dots/pipelined_gemm"))
    page = kernel_page(run, *copies(result, count))
    assert len(page.source.encode()) < PAGE_LIMIT
    assert "more characters in" in page.text
    assert "more difference" in page.text or "Shown in brief" in page.text
    shown = len(page.all("details", class_="case"))
    missing = count - shown
    assert (f"{missing} cases of least concern not on this page" in page.text) == (missing > 1)
    assert "more characters" in page.text


def test_what_matters_most_keeps_its_room(run, result_of):
    result = swollen(result_of("dots/pipelined_gemm"))
    passing = msgspec.structs.replace(result, judgements=(Judgement("outcome", Status.PASS, "OK"),))
    new = copies(result, 1)[0]
    case = msgspec.structs.replace(new.case, id="many/kernel_0/new@cuda:90", spec="new")
    page = kernel_page(run, *copies(passing, 80), msgspec.structs.replace(new, case=case))
    opened = [e for e in page.all("details", class_="case") if "open" in e.attributes]
    assert [e.attributes["id"] for e in opened] == ["many.kernel_0.new-cuda-90"]
    panes = [e for e in page.all("article") if e.path.count("details") == 2]
    assert "Differences" in opened[0].text
    assert panes


def test_an_index_of_thousands_stays_small_and_counts_what_it_leaves_out(run, result_of):
    equal = msgspec.structs.replace(
        result_of("dots/pipelined_gemm"),
        explanation=None,
        judgements=(Judgement("outcome", Status.PASS, "OK"),),
    )
    new = result_of("clusters/cluster_shift")
    view = build(msgspec.structs.replace(run, results=(*copies(equal, 6000, 900), new)))
    page = Page(html.index_page(view))
    assert len(page.source.encode()) < PAGE_LIMIT
    listed = [row for row in page.all("tr") if "data-case" in row.attributes]
    assert f"{6001 - len(listed):,} cases of least concern are not listed here" in page.text
    assert any(new.case.id in row.text for row in listed)
    assert len(page.all("a", class_="tile")) == len(listed)


def test_a_summary_of_thousands_is_accepted_by_ci_and_counts_what_it_leaves_out(run, result_of):
    new = result_of("clusters/cluster_shift")
    view = build(msgspec.structs.replace(run, results=copies(new, 12_000, 400)))
    text = markdown.summary(view)
    assert len(text.encode()) < CI_LIMIT
    said = int(text.splitlines()[-1].strip("*").split()[0].replace(",", ""))
    whole = len(list(markdown._lines(view)))
    assert said == whole - text.splitlines().index("", len(text.splitlines()) - 3)
    assert said > 0


def test_a_summary_that_fits_is_whole(run):
    text = markdown.summary(build(run))
    assert "did not fit" not in text
    assert len(text.encode()) < 100_000


def test_a_page_takes_less_than_50_ms_on_average(run, store, tmp_path):
    write_report(run, store, tmp_path)
    pages = 1 + len(list(tmp_path.glob("kernel/*.html")))
    best = min(_seconds(run, store, tmp_path) for _ in range(3))
    assert best / pages < 0.050


def _seconds(run, store, out) -> float:
    """Processor time, so that other work on the machine does not count."""
    started = time.process_time()
    write_report(run, store, out)
    return time.process_time() - started
