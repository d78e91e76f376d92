"""Plugins on the pages: what was proven, what was not, and which passes ran."""

from collections.abc import Callable

import msgspec
from pages import Page

from harness.model import PluginProof
from harness.result import Run
from reports import html
from reports.plugins import plugins_of
from reports.view import build


def with_proof(run: Run, **changes: object) -> Run:
    side = run.toolchains["plugin"]
    proof = msgspec.structs.replace(side.plugins[0], **changes)
    toolchains = {**run.toolchains, "plugin": msgspec.structs.replace(side, plugins=(proof,))}
    return msgspec.structs.replace(run, toolchains=toolchains)


def test_passes_are_counted_from_the_traces(run: Run):
    (plugin,) = plugins_of(run, build(run).cases)
    (proof,) = run.toolchains["plugin"].plugins
    traced = [r.compilations["plugin"].trace for r in run.results if "plugin" in r.compilations]
    for name, count in plugin.ran:
        adder = f".passes.plugin.{name}"
        assert count == sum(any(step.adder == adder for step in trace) for trace in traced)
    assert plugin.ran
    assert {*dict(plugin.ran), *plugin.idle} == set(proof.passes)
    assert plugin.cases == sum(bool(trace) for trace in traced)


def test_the_front_page_and_the_kernels_page_name_them(
    run: Run, index: Page, page_of: Callable[[str], Page]
):
    (plugin,) = plugins_of(run, build(run).cases)
    name, count = plugin.ran[0]
    assert "Plugins: proof of loading" in index.text
    assert f"in {plugin.used} of {plugin.cases} cases" in index.text
    assert f"{name} {count}" in index.text
    assert f"in none: {', '.join(plugin.idle)}" in index.text
    result = next(r for r in run.results if plugin.proof.ran(r.compilations["plugin"]))
    text = page_of(result.case.kernel).text
    assert all(each in text for each in plugin.proof.ran(result.compilations["plugin"]))


def test_what_is_not_proven_is_said_in_bold(run: Run):
    worst = with_proof(
        run,
        mapped_before_import=True,
        mapped_after_import=False,
        missing=("pass <b>tea",),
        ops_without_result=("x",),
        module_missing=True,
        hook="/a/<i>.py",
    )
    page = Page(html.index_page(build(worst)))
    bad = " ".join(node.text for node in page.all("b", **{"class": "bad"}))
    for words in (
        "not proven",
        "mapped before triton was imported",
        "not mapped",
        "promised but missing: pass <b>tea",
        "1 ops return nothing to Python",
        "kernels cannot import its module",
        "stage hook <i>.py has not joined Triton's",
    ):
        assert words in bad


def test_a_hook_alone_has_no_library_to_prove(run: Run):
    hook = PluginProof(
        "", "", False, False, 0, "", "", "", (), (), (),
        plugin="idea", hook="/a/idea.py", hook_sha256="0" * 64, hook_joined=True,
    )  # fmt: skip
    side = msgspec.structs.replace(run.toolchains["plugin"], plugins=(hook,))
    changed = msgspec.structs.replace(run, toolchains={**run.toolchains, "plugin": side})
    (plugin,) = plugins_of(changed, build(changed).cases)
    assert plugin.facts == (("stage hook idea.py has joined Triton's", True),)
    page = Page(html.index_page(build(changed)))
    assert "idea proven" in page.text
    assert page.all("button", **{"data-copy": "0" * 64})
