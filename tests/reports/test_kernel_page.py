"""A kernel's page: ladder, trace, attribution, hunks, counts, and the case itself."""

import shlex

import msgspec
import pytest
from pages import kernel_page

from reports.highlight import LINES_SHOWN


def test_the_ring_names_the_pass_where_it_loses_a_wait(page_of):
    ring = page_of("async_copy/ring_copy")
    births = [item.text for item in ring.all("li") if item.attributes.get("id", "")]
    assert any("tritongpu-pipeline" in text and "wait depth 1 -> 0" in text for text in births)


def test_every_stage_has_both_verdicts_side_by_side(page_of, result_of):
    result = result_of("dots/pipelined_gemm")
    text = page_of("dots/pipelined_gemm").text
    for comparison in result.comparisons:
        raw = "= equal" if comparison.raw == "IDENTICAL" else "x differ"
        assert f"{comparison.stage} {raw}" in text
        for rule in comparison.rules:
            assert rule in text


def test_hunks_name_both_compilers_and_the_significant_come_first(page_of, result_of):
    gemm = page_of("dots/pipelined_gemm")
    assert gemm.all("div", class_="pane")
    panes = gemm.all("div", class_="who")
    assert {pane.text for pane in panes[:2]} == {
        "fork fbtriton 3.7.4",
        "plugin triton-utlx 3.8.0.post16 + triton 3.8.0",
    }
    order = {"significant": 0, "unclear": 1, "benign": 2}
    found = []
    for element in gemm.elements:
        if element.tag == "details" and "stage" in element.attributes.get("class", ""):
            found.append([])
        if element.tag == "span" and "sig" in element.attributes.get("class", "").split():
            found[-1].append(order[element.text])
    assert any(found)
    assert all(stage == sorted(stage) for stage in found)


def test_differences_that_are_not_shown_are_counted(run, page_of, result_of):
    result = result_of("dots/pipelined_gemm")
    gemm = page_of("dots/pipelined_gemm")
    stages = {
        e.attributes["id"].rpartition("-s-")[2]: e
        for e in gemm.all("details", class_="stage")
        if "id" in e.attributes
    }
    for comparison in result.comparisons:
        if comparison.hunks:
            shown = stages[comparison.stage].text.count("fbtriton 3.7.4")
            missing = comparison.hunks_total - shown
            note = f"{missing:,} more difference"
            assert (note in stages[comparison.stage].text) == (missing > 0), comparison.stage


def test_the_chart_marks_every_pass_and_leads_to_its_entry(page_of, result_of):
    rows = result_of("dots/pipelined_gemm").explanation.rows
    gemm = page_of("dots/pipelined_gemm")
    hits = [e for e in gemm.all("a") if e.path[-1] == "svg" and e.attributes.get("tabindex")]
    assert len(hits) == len(rows)
    assert {e.attributes["href"][1:] for e in hits} <= set(gemm.ids)
    only = gemm.all("path", class_="only")
    assert len(only) == sum((r.left is None) != (r.right is None) for r in rows)


def test_attribution_shows_its_matrix_and_evidence(page_of, result_of):
    explanation = result_of("dots/pipelined_gemm").explanation
    gemm = page_of("dots/pipelined_gemm")
    assert gemm.all("b", class_="cause")[0].text == explanation.attributions[0]
    for sentence in explanation.evidence:
        assert " ".join(sentence.split()) in gemm.text
    assert len(gemm.all("table", class_="matrix")) == 1
    assert f"TTGIR into fork's own assembly: {explanation.same_back_end}" in gemm.text


def test_counts_that_differ_are_shown_and_one_sided_ones_named(page_of, result_of):
    gemm = page_of("dots/pipelined_gemm")
    rows = [row.text for row in gemm.all("tr", class_="differs")]
    for count in result_of("dots/pipelined_gemm").explanation.counts:
        if count.left and not count.right:
            assert any(count.name in row and "only fork" in row for row in rows), count
        if count.right and not count.left:
            assert any(count.name in row and "only plugin" in row for row in rows), count


def test_without_an_explanation_its_sections_are_absent(run, result_of):
    bare = msgspec.structs.replace(result_of("dots/pipelined_gemm"), explanation=None)
    text = kernel_page(run, bare).text
    for title in ("Where the difference is born", "Whose difference", "Counts", "Resources"):
        assert title not in text
    assert "Verdicts, stage by stage" in text
    assert "Differences" in text


def test_a_failing_case_shows_where_and_in_whose_words(page_of, result_of):
    shift = page_of("clusters/cluster_shift")
    failure = result_of("clusters/cluster_shift").compilations["plugin"].failure
    assert f"plugin: ERROR in {failure.phase}" in shift.text
    assert failure.message.splitlines()[0] in shift.text
    assert "fork: OK" in shift.text


def test_the_case_can_be_reproduced(page_of, result_of):
    case = result_of("dots/pipelined_gemm").case
    gemm = page_of("dots/pipelined_gemm")
    root = case.folder.removesuffix("/" + case.kernel)
    assert gemm.all("button", **{"data-copy": f"tlx-equiv run {case.id} --corpus {root}"})
    assert case.source.splitlines()[0] in gemm.text
    for name, value in case.constexprs.items():
        assert f"{name}={value!r}" in gemm.text


def test_the_command_to_reproduce_chooses_what_the_run_chose(run, result_of):
    chosen = ("--sides", "upstream:upstream", "--plugin", "/tmp/my idea.py")
    other = msgspec.structs.replace(run, options=chosen)
    gemm = kernel_page(other, result_of("dots/pipelined_gemm"))
    (button,) = [b for b in gemm.all("button") if " run " in b.attributes.get("data-copy", "")]
    assert shlex.split(button.attributes["data-copy"])[-4:] == [*chosen]


@pytest.mark.parametrize("count", [LINES_SHOWN, LINES_SHOWN + 1, 500])
def test_a_long_hunk_says_how_many_lines_are_missing(run, result_of, count):
    result = result_of("dots/pipelined_gemm")
    first = next(c for c in result.comparisons if c.hunks)
    hunk = msgspec.structs.replace(first.hunks[0], left=("same",) * count, right=("same",))
    changed = msgspec.structs.replace(first, hunks=(hunk,), hunks_total=1)
    text = kernel_page(run, msgspec.structs.replace(result, comparisons=(changed,))).text
    missing = count - LINES_SHOWN
    assert (f"{missing} more line" in text) == (missing > 0)
