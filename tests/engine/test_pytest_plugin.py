"""The pytest plugin as its users see it: ids, outcomes, messages, xdist, exit statuses."""

import shlex
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

KERNEL = "kernels/copy/case.py"


@pytest.fixture
def project(pytester: pytest.Pytester, write_kernel, tmp_path: Path) -> pytest.Pytester:
    """A third party's repository with one kernel, a store of its own, and our ini option."""
    folder = write_kernel("copy")
    folder.rename(pytester.path / "kernels")
    pytester.makeini("[pytest]\ntlx_corpus = kernels\naddopts = --import-mode=importlib")
    pytester.path.joinpath("store").mkdir()
    return pytester


def run(project: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return project.runpytest_subprocess("kernels", "--tlx-store", "store", *arguments)


def compiled(project: pytest.Pytester) -> int:
    return len(list((project.path / "store" / "manifests" / "compile").glob("*.json")))


def expect_everything(project: pytest.Pytester) -> None:
    store = ("--store", "store")
    command = (sys.executable, "-m", "harness.cli")
    project.run(*command, "run", "--corpus", "kernels", *store)
    done = project.run(
        *command,
        *("expect", "copy", "--id", "known", "--reason", "base drift, measured"),
        *("--link", "https://example.org", "--expires", "2099-01-01"),
    )
    assert done.ret == 0


def test_an_unexpected_difference_fails_with_verdict_lines_and_command(project: pytest.Pytester):
    result = run(project, "-v")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            f"{KERNEL}::fp32-256@cuda:90[[]outcome] PASSED*",
            f"{KERNEL}::fp32-256@cuda:90[[]ptx] FAILED*",
        ]
    )
    result.stdout.fnmatch_lines(["copy/fp32-256@cuda:90 [[]ptx[]]: DIFFERENT"])
    result.stdout.fnmatch_lines(["reproduce: tlx-equiv run copy/fp32-256@cuda:90 --corpus *"])
    assert compiled(project) == 2


DROPS_A_PASS = """
from triton._C.libtriton import passes


def inspect_stages(backend, stages, options, language, capability):
    make_ttgir = stages["ttgir"]

    def without_coalescing(module, metadata):
        usual = passes.ttgpuir.add_coalesce
        passes.ttgpuir.add_coalesce = lambda manager: None
        try:
            return make_ttgir(module, metadata)
        finally:
            passes.ttgpuir.add_coalesce = usual

    stages["ttgir"] = without_coalescing
"""


def test_a_plugin_is_tested_and_the_command_shown_loads_it_too(project: pytest.Pytester):
    hook = project.path / "idea.py"
    hook.write_text(DROPS_A_PASS)
    given = ("--tlx-sides", "plugin:plugin", "--tlx-plugin", "idea.py", "--tlx-lane", "shipped")
    result = run(project, "-k", "ttir or ttgir", *given)
    result.assert_outcomes(passed=1, failed=1, deselected=7)
    # a set: where CI is set, pytest's own summary repeats the whole message
    (shown,) = {line for line in result.outlines if line.startswith("reproduce: ")}
    command = shlex.split(shown.removeprefix("reproduce: "))
    assert command[-6:] == [
        *("--sides", "plugin:plugin", "--lane", "shipped", "--plugin", str(hook))
    ]
    again = project.run(sys.executable, "-m", "harness.cli", *command[1:], "--store", "store")
    assert again.ret == 1
    again.stdout.fnmatch_lines(["*copy/fp32-256@cuda:90*"])


def test_an_expected_difference_is_xfail_with_its_reason_and_under_xdist(project: pytest.Pytester):
    expect_everything(project)
    result = run(project, "-rx", "-n", "2", "--junitxml", "junit.xml")
    assert result.ret == 0
    assert result.parseoutcomes().get("xfailed", 0) > 0
    result.stdout.fnmatch_lines(["XFAIL *ptx* - *known: base drift, measured*"])
    assert compiled(project) == 2  # once a side, however many workers looked
    suite = ElementTree.parse(project.path / "junit.xml").getroot()
    assert int(suite[0].attrib["failures"]) == 0
    assert int(suite[0].attrib["tests"]) == 10


def test_a_stale_expectation_fails(project: pytest.Pytester):
    expect_everything(project)
    ledger = project.path / "kernels" / "expected.toml"
    ledger.write_text(ledger.read_text().replace("ptx = [", 'ptx = ["0123456789abcdef", '))
    result = run(project)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["known: stale: no case shows ptx 0123456789abcdef*"])


def test_selection_by_keyword_and_by_target(project: pytest.Pytester):
    result = run(project, "-k", "outcome")
    result.assert_outcomes(passed=1, deselected=8)
    result = run(project, "--tlx-target", "hip:gfx950", "--collect-only")
    result.stdout.fnmatch_lines(["*no tests collected*"])


def test_a_case_file_that_does_not_import_is_one_collection_error(project: pytest.Pytester):
    (project.path / "kernels" / "copy" / "case.py").write_text("import nonsense_module")
    result = run(project)
    assert result.ret == 2
    result.stdout.fnmatch_lines(["*case.py:1: does not import: ModuleNotFoundError*"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_a_void_run_ends_once_with_the_reason(project: pytest.Pytester, fork):
    result = run(project, "--tlx-toolchain", f"plugin={fork.interpreter}")
    assert result.ret == 2
    lines = [line for line in result.outlines + result.errlines if "void:" in line]
    assert len(lines) == 1


def test_other_projects_are_left_alone(pytester: pytest.Pytester):
    """Installed, but without a corpus: a folder with a case.py of somebody else's."""
    pytester.path.joinpath("case.py").write_text("raise ValueError('not ours')")
    pytester.makepyfile(test_one="def test_one(): pass")
    pytester.runpytest_subprocess().assert_outcomes(passed=1)
