"""What a GPU showed, on the pages: figures, the chart of speed, each kernel's section."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from pages import Page

from harness.parity.merge import parity_of
from harness.parity.result import load_report
from harness.result import Judgement, Parity, Run, Status
from reports import html, markdown
from reports.files import Links
from reports.gpu import speed_chart
from reports.view import RunView, build

MEASURED = Path(__file__).parents[1] / "parity" / "data" / "parity.json"
DEVICE = "NVIDIA H200, driver 580.159.04, CUDA 13.0, 2026-12-01"


def measurements() -> list[Parity]:
    """Six real results: two slower, one too short, one unstable, one wrong, one binary."""
    report = load_report(MEASURED)
    return [parity_of(result, report.gpus[result.gpu]) for result in report.results]


@pytest.fixture(scope="module")
def measured(run: Run) -> Run:
    """The recorded run as if its first cases had given these results."""
    parities = [*measurements(), *[None] * len(run.results)]
    results = tuple(
        msgspec.structs.replace(
            result,
            parity=parity,
            judgements=(*result.judgements, Judgement("speed", Status.NEW, "slower")),
        )
        if parity is not None
        else result
        for result, parity in zip(run.results, parities, strict=False)
    )
    return msgspec.structs.replace(run, results=results, parity_device=DEVICE)


@pytest.fixture(scope="module")
def view(measured: Run) -> RunView:
    return build(measured)


def test_the_index_counts_equal_bits_and_tells_median_and_worst_ratio(view: RunView) -> None:
    page = html.index_page(view)
    texts = [item.text for item in Page(page).all("li")]
    assert any("3 of 6" in text and "bits equal on the GPU" in text for text in texts)
    ratios = sorted(
        p.speed.ratio for p in measurements() if p.speed and p.speed.verdict != "too short to time"
    )
    assert len(view.gpu.timed) == 3
    assert any(f"worst {ratios[-1]:.2f}×; 2 of 3 slower" in text for text in texts)
    assert DEVICE in page
    summary = markdown.summary(view)
    assert "**3 of 6** bits equal on the GPU" in summary
    assert "### Slower on the GPU" in summary
    assert "### Not equal on the GPU" in summary


def test_the_chart_has_a_mark_for_each_case_timed_that_links_to_it(view: RunView) -> None:
    chart = view.gpu.chart
    assert chart is not None
    assert [mark.href for mark in chart.marks] == [case.href for case in view.gpu.timed]
    heights = [mark.y for mark in chart.marks]
    assert heights == sorted(heights)  # slowest first, and highest
    for mark in chart.marks:
        assert 0 < mark.top <= mark.y <= mark.bottom < chart.height
    assert ("1×", chart.one) in chart.ticks
    assert chart.marks[0].verdict == "slower"
    assert chart.marks[0].y < chart.one
    page = Page(html.index_page(view))
    assert len(page.all("a", class_="sp-slower")) == 2
    assert "2 too short to time, 1 one binary" in page.all("figcaption")[0].text


def test_names_in_the_chart_do_not_lie_over_each_other(view: RunView) -> None:
    case = view.gpu.timed[0]
    crowd = [case] * 30  # all at one height: no name has room but the last, which has none after it
    assert len(speed_chart(crowd).names) <= 1


def test_slower_and_unequal_cases_are_listed_worst_first(view: RunView) -> None:
    states = [case.result.parity.state for case in view.gpu.unequal if case.result.parity]
    assert states == ["WRONG", "NONDETERMINISTIC", "DIFFERENT"]
    ratios = [c.result.parity.speed.ratio for c in view.gpu.slower if c.result.parity]
    assert ratios == sorted(ratios, reverse=True)


def test_a_kernel_s_page_shows_bits_truth_and_time_of_each_side(view: RunView) -> None:
    case = next(c for c in view.gpu.unequal if c.result.parity.state == "DIFFERENT")
    kernel = next(kernel for kernel in view.kernels if case in kernel.cases)
    page = Page(html.kernel_page(view, kernel, Links()))
    headings = [h.text for h in page.all("h2") + page.all("h3")]
    assert headings.count("Parity and speed") >= 2  # the kernel's table and each case's section
    parity = case.result.parity
    assert parity is not None
    assert parity.speed is not None
    (text,) = [main.text for main in page.all("main")]
    assert parity.reason in text
    assert f"{parity.speed.ratio:.3f} [{parity.speed.low:.3f}, {parity.speed.high:.3f}]" in text
    worst = max(bits.worst_ulp for bits in parity.bits)
    assert f"{worst:,}" in text
    for name, why in parity.omitted.items():
        assert f"No {name} inputs: {why}" in text


def test_text_from_a_gpu_host_is_only_text(measured: Run) -> None:
    text = '<script>alert(1)</script>"\u202e'
    results = [
        msgspec.structs.replace(
            result,
            parity=msgspec.structs.replace(
                result.parity,
                verdict=text,
                reason=text,
                device=text,
                omitted={text: text},
                bits=tuple(
                    msgspec.structs.replace(b, output=text, distribution=text)
                    for b in result.parity.bits
                ),
            ),
        )
        if result.parity
        else result
        for result in measured.results
    ]
    view = build(msgspec.structs.replace(measured, results=tuple(results), parity_device=text))
    pages = [html.index_page(view), *(html.kernel_page(view, k, Links()) for k in view.kernels)]
    for page in pages:
        assert "<script>alert" not in page
        assert "\u202e" not in page
        Page(page)  # and it nests


def test_without_a_gpu_nothing_is_said_of_one(run: Run) -> None:
    view = build(run)
    assert view.gpu.chart is None
    assert "Parity and speed" not in html.index_page(view)
    for kernel in view.kernels:
        assert "Parity and speed" not in html.kernel_page(view, kernel, Links())
