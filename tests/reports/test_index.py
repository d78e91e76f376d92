"""The index says what the run measured: its sentence, figures, map, causes and failures."""

import msgspec

from harness.result import Judgement, LedgerProblem, Run, Status
from reports import html, markdown
from reports.view import build


def with_judgements(run: Run, status: Status, verdict: str = "DIFFERENT") -> Run:
    """The run as if every stage of every case had been judged so."""
    judged = [
        msgspec.structs.replace(
            result,
            judgements=tuple(
                Judgement(j.stage, status, verdict, "an-entry", "a reason of ours")
                for j in result.judgements
            ),
        )
        for result in run.results
    ]
    return msgspec.structs.replace(run, results=tuple(judged))


def test_the_first_line_counts_what_is_new_and_what_is_equal(run, index):
    new = sum(result.status() in (Status.NEW, Status.CHANGED) for result in run.results)
    (headline,) = index.all("h1")
    assert headline.text.startswith(f"{new} new difference")
    assert f"of {len(run.results)} cases equal at every stage" in headline.text
    assert index.all("header", class_="tone-bad")


def test_an_expected_difference_is_not_alarming(run):
    view = build(with_judgements(run, Status.EXPECTED))
    assert view.tone == "known"
    assert view.sentence.startswith(f"0 new differences, {len(run.results)} expected")
    assert not view.news
    (entry,) = view.ledger
    assert (entry.name, entry.words) == ("an-entry", "a reason of ours")
    assert len(entry.cases) == len(run.results)


def test_problems_outside_the_cases_are_alarming_and_told(run):
    problem = LedgerProblem("old-entry", "expired", "expired on 2026-11-01")
    broken = msgspec.structs.replace(
        with_judgements(run, Status.EXPECTED), ledger_problems=(problem,), broken=("foo: no case",)
    )
    view = build(broken)
    assert view.tone == "bad"
    page = html.index_page(view)
    assert "expired on 2026-11-01" in page
    assert "foo: no case" in page


def test_a_void_run_says_so_first(run):
    void = msgspec.structs.replace(run, results=(), void="the plugin's library is not mapped")
    view = build(void)
    assert view.sentence == "Void, nothing was measured: the plugin's library is not mapped"
    assert "Void, nothing was measured" in html.index_page(view)
    assert "Void, nothing was measured" in markdown.summary(view)


def test_the_toolchains_are_named_with_versions_and_whole_hashes(run, index):
    for toolchain in run.toolchains.values():
        for distribution in toolchain.distributions:
            assert distribution.replace("==", " ") in index.text
        for sha in (toolchain.fingerprint, toolchain.llvm_revision, *toolchain.libraries.values()):
            assert index.all("button", **{"data-copy": sha})
    (proof,) = run.toolchains["plugin"].plugins
    assert f"registered {len(proof.passes)} passes, {len(proof.ops)} ops" in index.text
    assert "mapped by importing triton" in index.text


def test_the_figures_have_numerators_and_denominators(run):
    figures = {figure.label: figure for figure in build(run).figures}
    identical = [
        c
        for result in run.results
        for c in result.comparisons
        if c.stage in ("cubin", "hsaco") and c.raw == "IDENTICAL"
    ]
    both = [
        result
        for result in run.results
        if all({"cubin", "hsaco"} & set(c.artifacts) for c in result.compilations.values())
    ]
    binaries = figures["binaries identical"]
    assert (binaries.part, binaries.whole) == (len(identical), len(both))
    crossed = figures["fork's back end on plugin's TTGIR gives fork's own assembly"]
    assert 0 < crossed.part < crossed.whole
    behaviour = figures["passes behave identically"]
    assert 0 < behaviour.part < behaviour.whole


def test_a_pass_behaves_identically_only_if_no_case_says_otherwise(run, result_of):
    gemm = result_of("dots/pipelined_gemm")
    only = msgspec.structs.replace(run, results=(gemm,))
    rows = [r for r in gemm.explanation.rows if r.left is not None and r.right is not None]
    differing = {(r.manager, r.name) for r in rows if r.behaviour == "differs"}
    assert differing, "the recorded GEMM is known to have passes that behave differently"
    (figure,) = [f for f in build(only).figures if f.label == "passes behave identically"]
    assert figure.part <= figure.whole - len(differing)


def test_the_map_has_a_tile_for_every_case_with_letter_and_level(run, index):
    tiles = {tile.attributes["href"]: tile for tile in index.all("a", class_="tile")}
    assert len(tiles) == len(run.results)
    for href, tile in tiles.items():
        assert len(tile.text) == 1
        assert [name for name in tile.attributes["class"].split() if name.startswith("dp-")]
        assert href.startswith("kernel/")
    failed = tiles[
        "kernel/clusters.cluster_shift.html#clusters.cluster_shift.fp32-512-c2-w4-cuda-90"
    ]
    assert failed.text == "E"
    assert "alarm" in failed.attributes["class"]


def test_a_stage_that_one_side_lacks_is_neither_equal_nor_different(result_of, run):
    failed = result_of("clusters/cluster_shift")
    (case,) = build(msgspec.structs.replace(run, results=(failed,))).cases
    assert {rung.state for rung in case.rungs} == {"absent"}


def test_failures_are_told_in_the_compilers_words(result_of, index):
    message = result_of("clusters/cluster_shift").compilations["plugin"].failure.message
    assert message.splitlines()[1][:60] in index.text
    assert "CRASH(plugin)" in index.text


def test_a_cause_names_the_pass_the_kind_and_how_many_cases(run):
    causes = {group.name: group for group in build(run).causes}
    pipeline = causes["tritongpu-pipeline"]
    assert "wait depth 1 -> 0" in pipeline.detail
    assert any(case.id.startswith("async_copy/ring_copy") for case in pipeline.cases)
    sizes = [len(group.cases) for group in build(run).causes]
    assert sizes == sorted(sizes, reverse=True)


def test_the_gravest_cause_comes_first(run, result_of):
    ring = result_of("async_copy/ring_copy/fp32-2x128@cuda:90")
    births = [birth.pass_name for birth in ring.explanation.births]
    assert births.index("tritongpu-pipeline") >= 0
    (case,) = build(msgspec.structs.replace(run, results=(ring,))).cases
    assert case.causes[0].place == "tritongpu-pipeline"
    assert case.causes[0].kinds[0].startswith("wait depth 1 -> 0")


def test_the_summary_for_ci_has_the_same_headline(run, report, index):
    summary = (report / "summary.md").read_text()
    assert summary.startswith(f"## {index.all('h1')[0].text.replace('_', '&#95;')}")
    assert "wait depth 1 -&#62; 0" in summary
    assert "fbtriton==3.7.4" in summary
