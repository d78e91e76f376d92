"""Trends: what each point counts, and how the page and the summaries show it."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import trend
from harness.change import Changes
from harness.changes import changes
from harness.errors import HarnessError
from harness.night import CaseFacts, Night
from harness.result import Judgement, Run, SpeedOf, Status
from harness.store import Store
from reports import Channel, html, markdown, write_night, write_report
from reports.trends import PLOT, trend_view
from reports.view import build

replace = msgspec.structs.replace


def unexpected(facts: CaseFacts) -> CaseFacts:
    if not facts.case.startswith("dots/pipelined_gemm"):
        return facts
    stages = tuple(
        replace(s, fingerprint="0" * 16, status=Status.NEW) if s.stage == "ptx" else s
        for s in facts.stages
    )
    return replace(facts, status=Status.NEW, stages=stages)


@pytest.fixture(scope="module")
def nights(night: Night, later) -> list[Night]:
    """Four nights, in the third of which a GEMM is unexpected."""
    return [night, later(1), later(2, unexpected), later(3)]


def test_points_count_what_the_run_says(night: Night, nights: list[Night]):
    found = trend.trend(nights)
    point = found.points[0]
    binaries = [f.binary for f in night.cases if f.binary and f.binary.verdict != "NOT PRODUCED"]
    same = [b for b in binaries if b.verdict == "IDENTICAL"]
    assert point.identical == (len(same), len(binaries))
    assert point.crossing[0] >= point.identical[0]
    compiled = [f for f in night.cases if all(side.outcome == "OK" for side in f.sides.values())]
    assert found.common == len(compiled)
    for role in ("fork", "plugin"):
        total = sum(f.sides[role].seconds for f in compiled)
        assert point.seconds[role] == pytest.approx(total, abs=1e-3)
        assert point.sizes[role] > 0
    assert set(point.kernels) == {f.kernel for f in night.cases}
    assert [p.kernels["dots/pipelined_gemm"].status for p in found.points] == [
        Status.EXPECTED, Status.EXPECTED, Status.NEW, Status.EXPECTED,
    ]  # fmt: skip


def test_nights_over_few_cases_and_void_ones_are_left_out(night: Night, later):
    few = later(1, lambda facts: facts if facts.case.startswith("baseline") else None)
    void = later(2, lambda facts: None, void="no plugin")
    found = trend.trend([night, few, void, later(3)])
    assert [point.started[8:10] for point in found.points] == ["01", "04"]
    assert found.left_out == 1


def test_what_a_gpu_showed_has_its_own_chart(later):
    def timed(ratio: float):
        speed = SpeedOf("same", {"fork": 10.0, "plugin": 10.0 * ratio}, ratio, ratio, ratio)
        return lambda facts: replace(facts, speed=speed)

    found = trend.trend([later(0, timed(1.5)), later(1), later(2, timed(1.1))])
    assert [point.speed for point in found.points] == [1.5, None, 1.1]
    chart = trend_view(found, "fork", "plugin").charts[-1]
    assert chart.title == "Time on the GPU, ratio"
    assert [dot.title.rpartition(" ")[2] for dot in chart.dots] == ["1.50×", "1.10×"]
    assert len(chart.paths) == 2  # a night without measurements breaks the line
    assert len(trend_view(trend.trend([later(0), later(1)]), "fork", "plugin").charts) == 3


def test_a_strip_shows_status_and_turns(nights: list[Night]):
    view = trend_view(trend.trend(nights), "fork", "plugin")
    strips = {strip.kernel: strip for strip in view.strips}
    strip = strips["dots/pipelined_gemm"]
    assert [cell.status for cell in strip.cells] == ["expected", "new", "expected"]
    assert strip.cells[0].width == 2 * strip.cells[1].width
    assert [x for x, _ in strip.turns] == [strip.cells[1].x, strip.cells[2].x]
    assert view.strips[0] is strip
    assert not any(s.restless for s in view.strips[1:])


values = st.none() | st.floats(0, 1e9)


@settings(deadline=None)
@given(st.lists(st.tuples(values, values), min_size=1, max_size=40))
def test_lines_stay_on_the_chart_and_larger_is_higher(pairs):
    points = tuple(
        trend.Point(
            started=f"2026-01-{1 + n % 28:02}",
            toolchains={"fork": "a", "plugin": str(n // 10)},
            identical=(0, 0),
            crossing=(0, 0),
            seconds={r: v for r, v in zip(("fork", "plugin"), pair, strict=True) if v is not None},
            sizes={},
            kernels={},
        )
        for n, pair in enumerate(pairs)
    )
    view = trend_view(trend.Trend(points), "fork", "plugin")
    if len(points) == 1:
        assert view.charts == ()
        return
    chart = view.charts[1]
    assert len(chart.dots) == sum(v is not None for pair in pairs for v in pair)
    for dot in chart.dots:
        assert 0 <= dot.x <= chart.width
        assert chart.base - PLOT - 0.1 <= dot.y <= chart.base
    drawn = sorted((v, -d.y) for v, d in zip(
        [pair[row] for row in (0, 1) for pair in pairs if pair[row] is not None],
        chart.dots, strict=True,
    ))  # fmt: skip
    assert [y for _, y in drawn] == sorted(y for _, y in drawn)
    assert 2 <= len(chart.ticks) <= 7
    assert len(chart.turns) == (len(points) - 1) // 10


def test_history_json_goes_around_and_says_when_it_cannot_be_read(
    nights: list[Night], tmp_path: Path
):
    exported = trend.export(nights[2], nights[:2])
    trend.save(exported, tmp_path)
    assert trend.load(tmp_path) == exported
    assert trend.load(tmp_path / "run.json") == exported
    assert trend.load(tmp_path / "elsewhere" / "run.json") is None
    (tmp_path / trend.FILE).write_text("{}")
    with pytest.raises(HarnessError, match="not a history of this version"):
        trend.load(tmp_path)


def test_the_index_begins_with_what_changed_and_links_the_trends(
    run: Run, nights: list[Night], tmp_path: Path
):
    exported = trend.export(nights[2], nights[:2])
    index = write_report(run, Store(tmp_path / "store"), tmp_path / "report", exported)
    text = index.read_text()
    assert text.index("What changed since 2026-12-02") < text.index("What was compared")
    section = text[text.index('id="h-changed"') : text.index('id="h-compared"')]
    assert "changed</span>" in section
    assert "dots/pipelined_gemm/fp16-64x64x32-w4-b2@cuda:90" in section
    assert "tlx-equiv run dots/pipelined_gemm" in section
    assert 'href="trends.html"' in text
    trends = (tmp_path / "report" / "trends.html").read_text()
    assert trends.count('class="chart fit"') == 3
    assert "1 kernel changed or unexpected" in " ".join(trends.split())
    assert 'href="kernel/dots.pipelined_gemm.html"' in trends
    assert "What changed" in (tmp_path / "report" / "summary.md").read_text()


def test_without_history_there_is_no_word_of_it(run: Run, tmp_path: Path):
    write_report(run, Store(tmp_path / "store"), tmp_path / "report")
    assert not (tmp_path / "report" / "trends.html").exists()
    assert "What changed" not in (tmp_path / "report" / "index.html").read_text()


def test_junit_fails_what_gates_and_skips_what_only_warns(
    run: Run, nights: list[Night], tmp_path: Path
):
    poisoned = replace(run.results[0], judgements=(
        Judgement("ptx", Status.NEW, "DIFFERENT", "", "\x00\x1b<&]]>\ud800"),
    ))  # fmt: skip
    good = replace(run.results[1], judgements=(Judgement("ptx", Status.PASS, "IDENTICAL"),))
    short = replace(run, results=(poisoned, good), broken=("a folder",))
    exported = trend.export(nights[1], nights[:1])
    channels = [
        Channel("pinned", short, exported, gating=True),
        Channel("canary", short, exported, gating=False),
    ]
    write_night(channels, ["the canary | <b>failed</b>"], tmp_path)
    root = ElementTree.parse(tmp_path / "junit.xml").getroot()
    gating, warning = root.findall("testsuite")
    assert (gating.get("tests"), gating.get("failures")) == ("3", "2")
    assert (warning.get("tests"), warning.get("skipped")) == ("3", "2")
    assert len(gating.findall(".//failure")) == len(warning.findall(".//skipped")) == 2
    assert not warning.findall(".//failure")
    assert [case.get("name") for case in gating][:2] == [poisoned.case.id, good.case.id]
    text = (tmp_path / "summary.md").read_text()
    assert text.startswith("## pinned: nothing changed")
    assert "> **Warning** the canary &#124; &#60;b&#62;failed" in text
    found = msgspec.json.decode((tmp_path / "changes.json").read_bytes())
    assert [c["channel"] for c in found["channels"]] == ["pinned", "pinned"]


def test_a_job_summary_stays_below_the_limit(run: Run, nights: list[Night]):
    found = changes(nights[2], nights[:2])
    (change,) = found.changes
    many = tuple(
        replace(change, case=f"case {n}", after=f"{n} " + "é" * 4000, command="c" * 4000)
        for n in range(3000)
    )
    for flood in (replace(found, changes=many), replace(found, pending=("x" * 10**6,))):
        view = build(run, trend.Export(flood, trend.Trend()))
        text = markdown.night([view, view], ["w" * 10**6] * 3)
        assert len(text.encode()) < 1 << 20
        assert "## pinned: " in text


def test_a_page_of_very_many_restless_kernels_is_bounded(run: Run):
    strips = [trend.Strip(status, 1, 1, status.value) for status in Status]
    points = tuple(
        trend.Point(
            f"2026-01-{1 + n % 28:02}", {}, (1, 2), (1, 2), {}, {},
            {f"family/kernel_{k}": strips[(n + k) % len(strips)] for k in range(1200)},
        )
        for n in range(60)
    )  # fmt: skip
    exported = trend.Export(Changes("pinned", "", "", 0), trend.Trend(points))
    view = build(run, exported)
    assert view.trends is not None
    text = html.trends_page(view, view.trends)
    assert len(text.encode()) < 2_000_000
    assert "more kernels in history.json" in text


def test_hostile_words_stay_text(run: Run, nights: list[Night], tmp_path: Path):
    word = "<script>alert(1)</script>\"'{{ 7*7 }}\u202e|"
    found = changes(nights[2], nights[:2])
    (change,) = found.changes
    poisoned = replace(
        change, case=word, before=word, after=word, stages=(word,), attribution=word,
        moved=(word,), because=(word,), command=word, bisect=(word,), kind=word,
    )  # fmt: skip
    strip = trend.Strip(Status.NEW, 1, 1, "a")
    point = trend.Point(word, {word: word}, (1, 1), (1, 1), {word: 1.0}, {word: 1}, {word: strip})
    other = replace(point, toolchains={word: "x"}, kernels={word: replace(strip, digest="b")})
    flood = replace(found, changes=(poisoned,), since=word, pending=(word,))
    exported = trend.Export(flood, trend.Trend((point, other), 1))
    write_report(run, Store(tmp_path / "store"), tmp_path / "report", exported)
    for name in ("index.html", "trends.html"):
        text = (tmp_path / "report" / name).read_text()
        assert "<script>alert" not in text
        assert "\u202e" not in text
        assert "{{ 7*7 }}" in text
        assert text.count("<script>") == 1
    summary = (tmp_path / "report" / "summary.md").read_text()
    assert "<script>" not in summary


def test_changes_survive_json(nights: list[Night]):
    found = changes(nights[2], nights[:2])
    assert msgspec.json.decode(msgspec.json.encode(found), type=Changes) == found
