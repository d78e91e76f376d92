"""The report's folder: whole files, the store's bytes, links that lead somewhere."""

import os
import posixpath
import urllib.parse
from pathlib import Path

import msgspec
import pytest
from pages import Page

from harness.errors import HarnessError
from harness.store import Store, digest
from reports import write_report


def pages_of(report: Path) -> dict[str, Page]:
    paths = [report / "index.html", *sorted(report.glob("kernel/*.html"))]
    return {path.relative_to(report).as_posix(): Page(path.read_text()) for path in paths}


def test_there_is_a_page_for_every_kernel_and_the_index_comes_back(run, store, tmp_path):
    path = write_report(run, store, tmp_path / "new" / "report")
    assert path == tmp_path / "new" / "report" / "index.html"
    kernels = {result.case.kernel.replace("/", ".") for result in run.results}
    assert {p.stem for p in path.parent.glob("kernel/*")} == kernels
    assert not list(path.parent.rglob(".report-*"))


def test_every_link_leads_somewhere(report):
    pages = pages_of(report)
    followed = 0
    for name, page in pages.items():
        for link in page.all("a"):
            target, _, fragment = link.attributes["href"].partition("#")
            path = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
            path = name if not target else urllib.parse.unquote(path)
            assert (report / path).is_file(), link.attributes["href"]
            if fragment:
                assert fragment in pages[path].ids, link.attributes["href"]
            followed += 1
    assert followed > 100


def test_artifacts_are_copied_for_what_differs_only_and_are_the_stores_bytes(run, report):
    written = {path: digest(path.read_bytes()) for path in report.glob("artifacts/*/*")}
    wanted = []
    for result in run.results:
        for comparison in result.comparisons:
            if comparison.raw != "IDENTICAL" and comparison.stage != "sass":
                sides = result.compilations.values()
                wanted += [
                    c.artifacts[comparison.stage].sha256
                    for c in sides
                    if comparison.stage in c.artifacts
                ]
        wanted += [
            c.artifacts["stderr"].sha256
            for c in result.compilations.values()
            if "stderr" in c.artifacts
        ]
    assert sorted(set(written.values())) == sorted(set(wanted))
    for path, sha in written.items():
        assert sha[:12] in path.name


def test_an_artifact_that_the_store_lost_has_no_link(run, tmp_path):
    write_report(run, Store(tmp_path / "empty"), tmp_path / "report")
    assert not list(tmp_path.glob("report/artifacts/*"))
    for page in pages_of(tmp_path / "report").values():
        assert not [a for a in page.all("a") if "artifacts/" in a.attributes["href"]]


def test_a_report_over_a_report_leaves_one_report(run, store, tmp_path):
    write_report(run, store, tmp_path)
    first = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    write_report(run, store, tmp_path)
    assert first == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_named(run, store, tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(HarnessError, match="cannot write") as caught:
        write_report(run, store, tmp_path)
    assert str(tmp_path) in caught.value.thing


def test_a_folder_that_is_a_file_is_named_with_the_way_out(run, store, tmp_path):
    (tmp_path / "report").write_text("in the way")
    with pytest.raises(HarnessError) as caught:
        write_report(run, store, tmp_path / "report")
    assert str(tmp_path / "report") in caught.value.thing
    assert "--out" in caught.value.way_out
    assert (tmp_path / "report").read_text() == "in the way"


def test_two_kernels_whose_names_differ_in_case_or_slashes_have_pages_of_their_own(
    run, store, tmp_path, result_of
):
    names = ["a/b", "A/b", "a.b", "a b", "a/../b"]
    results = []
    for name in names:
        result = result_of("dots/pipelined_gemm")
        case = msgspec.structs.replace(
            result.case, kernel=name, id=f"{name}/{result.case.spec}@cuda:90"
        )
        results.append(msgspec.structs.replace(result, case=case))
    write_report(msgspec.structs.replace(run, results=tuple(results)), store, tmp_path)
    titles = {Page(path.read_text()).all("h1")[0].text for path in tmp_path.glob("kernel/*.html")}
    assert titles == set(names)
    assert len({path.name.lower() for path in tmp_path.glob("kernel/*.html")}) == len(names)
