"""``bundle``, ``parity`` and ``merge`` as their users see them: output, messages, statuses."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import merged
import msgspec
import pytest

from harness import corpus as corpora
from harness import run as runs
from harness.errors import HarnessError
from harness.parity import session
from harness.parity.bundle import Bundle

Cli = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Run ``tlx-equiv`` in a folder of its own; returns what it printed."""

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", "from harness.cli.app import main; main()"]
        root = str(Path(__file__).resolve().parents[2])
        return subprocess.run(
            [*command, *map(str, words)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": root, "COLUMNS": "200", "TERM": "dumb"},
            capture_output=True,
            text=True,
            timeout=300,
        )

    return run


def _refused(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert "way out:" in done.stderr
    for word in words:
        assert word in done.stderr


@pytest.fixture
def bundle(compiled: Callable[..., object], bundle_of: Callable[..., Path]) -> Path:
    return bundle_of(compiled("a", "add_one", "add_two"))


def test_a_missing_a_truncated_and_a_foreign_bundle_are_refused(cli, bundle, tmp_path) -> None:
    _refused(cli("parity", "nowhere.tar"), "nowhere.tar", "No such file")
    whole = bundle.read_bytes()
    for size in (len(whole) // 2, 100, 0):
        (tmp_path / "cut.tar").write_bytes(whole[:size])
        _refused(cli("parity", "cut.tar"), "cut.tar", "truncated")
    (tmp_path / "text.tar").write_text("no bundle at all\n" * 100)
    _refused(cli("parity", "text.tar"), "not a bundle")
    assert not (tmp_path / "parity.json").exists()


def _has_gpu() -> bool:
    try:
        session.gpus()
    except HarnessError:
        return False
    return True


@pytest.mark.skipif(_has_gpu(), reason="this machine has a GPU")
def test_without_a_gpu_parity_says_so(cli, bundle) -> None:
    _refused(cli("parity", bundle, "-o", "parity.json"), "GPU", "torch finds no CUDA device")


def test_merge_refuses_what_is_no_report_and_what_is_of_another_run(cli, tmp_path) -> None:
    runs.save(merged.run_of(merged.recorded()), tmp_path / "run")
    before = (tmp_path / "run" / "run.json").read_bytes()
    _refused(cli("merge", "nowhere.json", "--run", "run"), "nowhere.json", "No such file")
    _refused(cli("merge", merged.REPORT, "--run", "nowhere"), "nowhere")
    (tmp_path / "broken.json").write_bytes(merged.REPORT.read_bytes()[:3000])
    _refused(cli("merge", "broken.json", "--run", "run"), "not a report")
    (tmp_path / "new.json").write_bytes(
        msgspec.json.encode(msgspec.structs.replace(merged.recorded(), version=99))
    )
    _refused(cli("merge", "new.json", "--run", "run"), "version 99")
    other = msgspec.structs.replace(merged.recorded(), toolchains={})
    (tmp_path / "other.json").write_bytes(msgspec.json.encode(other))
    _refused(cli("merge", "other.json", "--run", "run"), "of other toolchains")
    assert (tmp_path / "run" / "run.json").read_bytes() == before


@pytest.fixture
def unexpecting(tmp_path: Path) -> Path:
    """The project's corpus without its ledger."""
    folder = tmp_path / "corpus"
    shutil.copytree(corpora.DEFAULT, folder, ignore=shutil.ignore_patterns(corpora.LEDGER))
    return folder


def test_merge_joins_judges_and_can_be_repeated(cli, unexpecting, tmp_path) -> None:
    runs.save(merged.run_of(merged.recorded()), tmp_path / "run")
    command = ("merge", merged.REPORT, "--run", "run", "--corpus", unexpecting)
    done = cli(*command)
    assert done.returncode == 1, done.stderr
    assert "6 of 6 cases measured on a GPU" in done.stdout
    assert "NEW dots/pipelined_gemm/fp16-128x128x64-w4-b3@cuda:90 speed: slower" in done.stdout
    once = (tmp_path / "run" / "run.json").read_bytes()
    assert cli(*command).stdout == done.stdout
    assert (tmp_path / "run" / "run.json").read_bytes() == once


def test_what_a_gpu_found_can_be_expected_and_then_passes(cli, unexpecting, tmp_path) -> None:
    runs.save(merged.run_of(merged.recorded()), tmp_path / "run")
    cli("merge", merged.REPORT, "--run", "run", "--corpus", unexpecting)
    accepted = cli(
        *("expect", "*", "--run", "run", "--id", "known", "--reason", "measured"),
        *("--link", "https://example.org", "--expires", "2099-01-01", "--ledger", "ledger.toml"),
    )
    assert accepted.returncode == 0, accepted.stderr
    text = (tmp_path / "ledger.toml").read_text()
    assert 'speed = ["slower"]' in text
    for state in ("DIFFERENT", "NONDETERMINISTIC(both)", "WRONG(plugin)"):
        assert f'"{state}"' in text


def test_a_real_run_is_bundled_with_its_identities(cli, write_kernel, tmp_path) -> None:
    kernels = write_kernel("copy", targets='("cuda:90", "hip:gfx950")')
    where = ("--corpus", kernels)
    store = ("--store", "store")
    made = cli("run", *where, *store, "--out", "run")
    assert made.returncode in (0, 1), made.stderr
    run = runs.load(tmp_path / "run")
    done = cli("bundle", *where, *store, "--run", "run", "--target", "cuda:90", "-o", "parity.tar")
    assert done.returncode == 0, done.stderr
    assert "parity.tar: 1 cases" in done.stdout
    with Bundle(tmp_path / "parity.tar") as opened:
        (case,) = opened.manifest.cases
        assert case.id == "copy/fp32-256@cuda:90"
        stamps = opened.manifest.toolchains
        assert {role: s.fingerprint for role, s in stamps.items()} == {
            role: identity.fingerprint for role, identity in run.toolchains.items()
        }
        (result,) = [r for r in run.results if r.case.id == case.id]
        for side in case.sides:
            assert side.binary == result.compilations[side.role].artifacts["cubin"].sha256

    source = kernels / "copy" / "kernel.py"
    source.write_text(source.read_text() + "\n# another text\n")
    changed = cli("bundle", *where, *store, "--run", "run", "-o", "again.tar")
    _refused(changed, "nothing to launch: 2 changed since the run")
    assert not (tmp_path / "again.tar").exists()


def test_bundle_refuses_a_missing_run_and_an_unknown_pattern(cli, tmp_path) -> None:
    _refused(cli("bundle", "--run", "nowhere"), "nowhere")
    runs.save(merged.run_of(merged.recorded()), tmp_path / "run")
    _refused(cli("bundle", "no-such-kernel", "--run", "run"), "no-such-kernel", "matches none")
