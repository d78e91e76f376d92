"""The command line as a newcomer meets it: help, JSON, exit statuses, one clear error each."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


def tlx(*arguments: str | Path, cwd: Path | None = None, **environment: str):
    import os

    return subprocess.run(
        [sys.executable, "-m", "harness.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "COLUMNS": "200", **environment},
        check=False,
    )


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a corpus of one kernel has been run."""
    folder = tmp_path_factory.mktemp("cli")
    made = tlx("new-kernel", "demo/copy", "--corpus", "kernels", cwd=folder)
    assert made.returncode == 0, made.stderr
    done = tlx("run", "--corpus", "kernels", "--store", "store", cwd=folder)
    assert done.returncode == 1, done.stdout + done.stderr
    return folder


def one_error(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert done.stderr.count("error:") == 1
    assert "way out:" in done.stderr
    return done.stderr


def test_help_names_every_command_and_the_exit_statuses():
    done = tlx("--help")
    assert done.returncode == 0
    for word in ("toolchains", "cases", "run", "show", "diff", "explain", "repro", "expect"):
        assert word in done.stdout
    assert "Exit status: 0" in done.stdout


def test_a_run_says_what_is_identical_new_and_where_the_report_is(ran: Path):
    done = tlx("run", "--corpus", "kernels", "--store", "store", cwd=ran)
    assert done.returncode == 1
    assert "ttir: " in done.stdout
    assert "NEW demo/copy/fp32-256@cuda:90 ptx: DIFFERENT" in done.stdout
    assert "2 cases in" in done.stdout
    assert "report: tlx-equiv report build/run" in done.stdout
    record = json.loads((ran / "build" / "run" / "run.json").read_text())
    proof = record["toolchains"]["plugin"]["plugins"][0]
    assert (proof["mapped_before_import"], proof["mapped_after_import"]) == (False, True)


def test_show_diff_and_explain_speak_of_the_case(ran: Path):
    shown = tlx("show", "demo/copy/fp32-256@cuda:90", cwd=ran)
    assert shown.returncode == 0
    assert "reproduce: tlx-equiv run" in shown.stdout
    diff = tlx("diff", "*@cuda:90", "--stage", "ptx", cwd=ran)
    assert diff.returncode == 0
    assert "--- fork (fbtriton==" in diff.stdout
    explained = tlx("explain", "*@cuda:90", cwd=ran)
    assert explained.returncode == 0
    for word in ("Where", "Whose", "What", "How much", "registers per thread"):
        assert word in explained.stdout


def test_json_is_json_everywhere(ran: Path):
    for command in (
        ("cases", "--corpus", "kernels"),
        ("show", "*@cuda:90"),
        ("diff", "*@cuda:90", "--stage", "ptx"),
        ("explain", "*@cuda:90"),
        ("coverage",),
        ("toolchains", "list"),
    ):
        json.loads(tlx(*command, "--json", cwd=ran).stdout)


def test_recorded_expectations_make_the_run_green_and_a_change_red(ran: Path, tmp_path: Path):
    import shutil

    folder = tmp_path / "copy"
    shutil.copytree(ran, folder)
    arguments = ("run", "--corpus", "kernels", "--store", "store")
    assert tlx(*arguments, cwd=folder).returncode == 1
    done = tlx(
        *("expect", "demo/copy", "--id", "known", "--reason", "measured", "--link", "https://x"),
        *("--expires", "2099-01-01", "--attribution", "base-drift"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    assert tlx(*arguments, cwd=folder).returncode == 0
    kernel = folder / "kernels" / "demo" / "copy" / "kernel.py"
    kernel.write_text(kernel.read_text().replace("* 2.0", "* tl.sum(tlx.local_load(buffer))"))
    changed = tlx(*arguments, cwd=folder)
    assert changed.returncode == 1
    assert "CHANGED demo/copy" in changed.stdout or "NEW demo/copy" in changed.stdout
    bare = tlx("expect", "demo/copy", "--id", "other", cwd=folder)
    assert bare.returncode == 2
    assert "a new one needs a reason" in bare.stderr
    extended = tlx("expect", "demo/copy", "--id", "known", cwd=folder)
    assert "extended known" in extended.stdout
    assert "measured" in (folder / "kernels" / "expected.toml").read_text()  # its own reason


def test_a_killed_run_goes_on_where_it_stopped(ran: Path, tmp_path: Path):
    """The store is all that a run leaves behind; without run.json it is enough."""
    (ran / "build" / "run" / "run.json").unlink()
    before = sorted((ran / "store" / "manifests" / "compile").iterdir())
    done = tlx("run", "--corpus", "kernels", "--store", "store", cwd=ran)
    assert done.returncode == 1
    assert sorted((ran / "store" / "manifests" / "compile").iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "no_such_kernel"), "pattern 'no_such_kernel'"),
        (("run", "--corpus", "nowhere"), "no such folder"),
        (("run", "--target", "cuda:75"), "no case has it"),
        (("run", "--target", "gpu"), "target 'gpu'"),
        (("run", "--toolchain", "fork"), "not of the form ROLE=WHERE"),
        (("run", "--toolchain", "spoon=/x"), "spoon"),
        (("run", "--toolchain", "fork=/no/such/venv"), "/no/such/venv"),
        (("run", "--lane", "fast"), "fast"),
        (("run", "--sides", "fork"), "not of the form REFERENCE:CANDIDATE"),
        (("run", "--hook", "nothing.py"), "no such file"),
        (("run", "--store", "/proc/store"), "cannot write"),
        (("show", "anything", "--run", "nowhere"), "no such file"),
        (("report", "nowhere"), "no such file"),
        (("new-kernel", "a b"), "not usable as a folder name"),
        (("expect", "x", "--id", "a", "--reason", "b", "--link", "c", "--expires", "soon"), ""),
    ],
)
def test_bad_usage_is_one_clear_error(tmp_path: Path, arguments: tuple[str, ...], words: str):
    assert words in one_error(tlx(*arguments, cwd=tmp_path))


def test_a_case_or_stage_that_was_not_run_is_named(ran: Path):
    assert "not among the 2 cases" in one_error(tlx("show", "nothing", cwd=ran))
    assert "matches 2 cases" in one_error(tlx("show", "demo/copy", cwd=ran))
    assert "not compared in that run" in one_error(
        tlx("diff", "*@cuda:90", "--stage", "amdgcn", cwd=ran)
    )


def test_an_existing_kernel_is_not_overwritten(ran: Path):
    done = tlx("new-kernel", "demo/copy", "--corpus", "kernels", cwd=ran)
    assert "exists already" in one_error(done)


def test_a_malformed_run_is_named(ran: Path, tmp_path: Path):
    (tmp_path / "run.json").write_text("{}")
    assert "not a run record" in one_error(tlx("show", "x", "--run", tmp_path))


def test_a_bad_folder_costs_only_itself_and_exits_2(ran: Path, tmp_path: Path):
    import shutil

    shutil.copytree(ran / "kernels", tmp_path / "kernels")
    bad = tmp_path / "kernels" / "bad"
    bad.mkdir()
    (bad / "case.py").write_text("")
    done = tlx("run", "--corpus", "kernels", "--store", ran / "store", cwd=tmp_path)
    assert done.returncode == 2
    assert "has no kernel.py" in done.stdout
    assert "2 cases in" in done.stdout


def test_two_forks_are_not_a_result(ran: Path, fork):
    done = tlx(
        *("run", "--corpus", "kernels", "--store", "store", "--out", "void"),
        *("--toolchain", f"plugin={fork.interpreter}"),
        cwd=ran,
    )
    assert done.returncode == 2
    assert done.stderr.count("error: ") == 1
    assert "this Triton loads no plugins" in done.stderr
    assert not (ran / "void").exists()


def test_a_reproducer_runs_without_the_harness(ran: Path, tmp_path: Path):
    """Its scripts make their own environments; here they are given the pinned ones."""
    out = tmp_path / "repro"
    done = tlx("repro", "*@cuda:90", "--out", out, cwd=ran)
    assert done.returncode == 0, done.stderr
    listed = json.loads(tlx("toolchains", "list", "--json", cwd=ran).stdout)
    for role in ("fork", "plugin"):
        (out / f"env-{role}").symlink_to(Path(listed[role]["interpreter"]).parent.parent)
    shown = subprocess.run(
        ["sh", out / "show.sh"], capture_output=True, text=True, check=True, cwd="/"
    )
    assert "cubin: differs" in shown.stdout
    record = json.loads((ran / "build" / "run" / "run.json").read_text())
    (result,) = (r for r in record["results"] if r["case"]["id"].endswith("cuda:90"))
    import hashlib

    mine = hashlib.sha256((out / "out-plugin" / "ttgir.mlir").read_bytes()).hexdigest()
    assert mine == result["compilations"]["plugin"]["artifacts"]["ttgir"]["sha256"]
