"""Whatever a kernel, a compiler or a case is called or says stays text."""

import re
import unicodedata

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pages import Page, kernel_page

from harness.model import Comparison, Hunk
from harness.result import CaseResult, Judgement, Run
from reports import html, markdown
from reports.view import build

PIECES = [
    "<script>alert(1)</script>", "</script>", "</style>", "-->", "<!--", "]]>",
    "<img src=x onerror=a>",
    "\"", "'", "`", "&", "&lt;", "&#60;", "<", ">", "javascript:alert(1)", "{{ 7*7 }}", "{% raw %}",
    "</title>", "</textarea>", "<svg/onload=a>", "\x00", "\x1b[31m", "\u202e", "\u200b", "\u2028",
    "\r\n", "\t", "|", "\\", "[x](javascript:a)", "é", "漢", "🙂", "a" * 50, "/", "..", "#", "=",
]  # fmt: skip
hostile = (
    st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=5)
    .map("".join)
    .filter(lambda text: not any(unicodedata.category(c) == "Cs" for c in text))
)
quick = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def poisoned(result: CaseResult, text: str) -> CaseResult:
    """The result with ``text`` put into everything that comes from outside."""
    case = msgspec.structs.replace(
        result.case,
        id=text,
        kernel=text,
        family=text,
        spec=text,
        source=text,
        folder=text,
        signature={text: text},
        constexprs={text: text},
        options={text: text},
        divisible_by_16=(text,),
    )
    hunk = Hunk(text, 1, 2, (text, text), (text + "x",), (text,), text, text)
    comparisons = tuple(
        msgspec.structs.replace(
            c, hunks=(hunk,) if c.hunks else (), rules=(text,), note=text, side=text
        )
        for c in result.comparisons
    )
    compilations = {
        role: msgspec.structs.replace(
            c,
            printed_errors=text,
            failure=c.failure
            and msgspec.structs.replace(
                c.failure, message=text, phase=text, pass_name=text, signal=text, stderr_tail=text
            ),
        )
        for role, c in result.compilations.items()
    }
    explanation = result.explanation
    if explanation is not None:
        explanation = msgspec.structs.replace(
            explanation,
            rows=tuple(
                msgspec.structs.replace(r, name=text, manager=text, note=text, right_options=text)
                for r in explanation.rows[:12]
            ),
            births=tuple(
                msgspec.structs.replace(
                    b, pass_name=text, kinds=(text,), event=text, by=text, example_left=text
                )
                for b in explanation.births
            ),
            matrix=tuple(
                msgspec.structs.replace(c, front=text, void=text) for c in explanation.matrix
            ),
            attributions=(text,),
            evidence=(text,),
            gaps=(text,),
            counts=tuple(
                msgspec.structs.replace(c, name=text, table=text) for c in explanation.counts[:5]
            ),
        )
    return msgspec.structs.replace(
        result,
        case=case,
        outcome=text or "OK",
        comparisons=comparisons,
        compilations=compilations,
        explanation=explanation,
        judgements=tuple(Judgement(j.stage, j.status, text, text, text) for j in result.judgements),
    )


def poisoned_run(run: Run, results: list[CaseResult], text: str) -> Run:
    return msgspec.structs.replace(
        run,
        results=tuple(poisoned(result, text) for result in results),
        lane=text,
        command=text,
        harness=text,
        started=text,
        controls={text: text},
        broken=(text,),
    )


def shape(page: Page) -> set[tuple[str, tuple[str, ...]]]:
    """The kinds of elements on a page, each with its attributes' names."""
    return {(e.tag, tuple(sorted(e.attributes))) for e in page.elements}


def assert_harmless(page: Page, harmless: Page) -> None:
    """No element or attribute that the same page with plain text has not."""
    known = {(tag, name) for tag, names in shape(harmless) for name in (*names, "")}
    for tag, names in shape(page):
        assert (tag, "") in known, tag
        for name in names:
            assert (tag, name) in known, (tag, name)
    assert len(page.all("script")) == len(page.all("style")) == 1
    assert page.all("script")[0].text == harmless.all("script")[0].text
    assert page.all("style")[0].text == harmless.all("style")[0].text
    for link in page.all("a"):
        href = link.attributes["href"]
        assert re.fullmatch(
            r"(\.\./)?(index\.html|coverage\.html|kernel/[\w.-]+\.html|artifacts/[\w./-]+)?"
            r"(#[\w.-]+)?",
            href,
        ), href
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u200b\u2028\u202e]", page.source)


def test_hostile_text_leaves_no_mark_on_a_kernels_page(run, result_of):
    results = [result_of("async_copy/ring_copy/fp32-2x128@cuda:90")]
    results.append(result_of("clusters/cluster_shift"))
    harmless = kernel_page(
        poisoned_run(run, results, "plain"), *poisoned_run(run, results, "plain").results
    )

    @quick
    @given(hostile)
    def check(text: str) -> None:
        changed = poisoned_run(run, results, text)
        page = kernel_page(changed, *changed.results)
        assert_harmless(page, harmless)

    check()


def test_hostile_text_leaves_no_mark_on_the_index_or_the_summary(run, result_of):
    results = [result_of("async_copy/ring_copy/fp32-2x128@cuda:90")]
    results.append(result_of("clusters/cluster_shift"))
    harmless = Page(html.index_page(build(poisoned_run(run, results, "plain"))))

    @quick
    @given(hostile)
    def check(text: str) -> None:
        view = build(poisoned_run(run, results, text))
        assert_harmless(Page(html.index_page(view)), harmless)
        summary = markdown.summary(view)
        assert "<" not in summary
        assert not re.search(r"\]\(", summary)
        for table in re.findall(r"(?:^\|.*\n)+", summary, re.MULTILINE):
            assert len({line.count("|") for line in table.splitlines()}) == 1

    check()


def test_hostile_text_is_still_there_to_be_read(run, result_of):
    text = '<script>alert(1)</script> & "quoted" \u202eturned'
    changed = poisoned_run(run, [result_of("clusters/cluster_shift")], text)
    page = kernel_page(changed, *changed.results)
    assert '<script>alert(1)</script> & "quoted" ‹U+202E›turned' in page.text


def test_a_stage_of_a_hostile_name_gets_a_path_inside_the_report(run, store, tmp_path, result_of):
    from reports import write_report

    result = result_of("dots/pipelined_gemm")
    stage = "../../../escape"
    fork = result.compilations["fork"]
    compilations = {
        role: msgspec.structs.replace(c, artifacts={**c.artifacts, stage: fork.artifacts["ttir"]})
        for role, c in result.compilations.items()
    }
    odd = Comparison(stage, result.comparisons[0].raw, result.comparisons[0].verdict)
    changed = msgspec.structs.replace(
        result, compilations=compilations, comparisons=(*result.comparisons, odd)
    )
    out = tmp_path / "a" / "b" / "c"
    write_report(msgspec.structs.replace(run, results=(changed,)), store, out)
    outside = [p for p in tmp_path.rglob("*") if p.is_file() and out not in p.parents]
    assert outside == []
    assert list(out.glob("artifacts/*/escape.*"))
