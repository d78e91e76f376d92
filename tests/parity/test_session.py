"""Runs of whole bundles in worker processes: faults, hangs, crashes, memory, resuming."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
import sample

from harness.case import Expected, Kernel
from harness.errors import HarnessError
from harness.model import Outcome, Target
from harness.parity import session
from harness.parity.process import ROOT
from harness.parity.result import ParityReport, ParityResult, State, load_report
from harness.parity.worker import gpu_lock

HERE = Path(__file__).parent
LAUNCHER = "host_launcher:HostLauncher"
QUIET = 8.0


@pytest.fixture(autouse=True)
def _workers_find_the_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(HERE))


@pytest.fixture
def run(bundle_of: Callable[..., Path], tmp_path: Path) -> Callable[..., ParityReport]:
    def go(*cases: object, slots: tuple[str, ...] = ("test-a",), **more: object) -> ParityReport:
        return session.run_parity(
            bundle_of(*cases),
            tmp_path / "parity.json",
            slots=slots,
            launcher=LAUNCHER,
            **{"quiet": QUIET, **more},
        )

    return go


def test_each_failure_costs_its_own_case_only(compiled, run, tmp_path) -> None:
    seen = []
    report = run(
        compiled("first", "add_one", "add_one_otherwise"),
        compiled("faults", "add_one", "illegal_address"),
        compiled("refused", "refused", "add_one"),
        compiled("both", "illegal_address", "refused"),
        compiled("dies", "die", "add_one"),
        compiled("hangs", "add_one", "endless"),
        compiled("memory", "add_one", "out_of_memory"),
        compiled("last", "add_one", "add_two"),
        progress=lambda done, total, result: seen.append((done, total, result.case)),
    )
    verdicts = {result.case.split("/")[1]: result.verdict for result in report.results}
    assert verdicts == {
        "first": "BITWISE_EQUAL",
        "faults": "FAULT(plugin)",
        "refused": "FAULT(fork)",
        "both": "FAULT(both)",
        "dies": "FAULT(fork)",
        "hangs": "TIMEOUT(plugin)",
        "memory": "SKIPPED",
        "last": "WRONG(plugin)",
    }
    reasons = {result.case.split("/")[1]: result.reason for result in report.results}
    assert "illegal memory access" in reasons["faults"]
    assert "the other side alone: nothing found" in reasons["faults"]
    assert "CUDA_ERROR_INVALID_VALUE" in reasons["refused"]
    assert "no end after 8 s" in reasons["hangs"]
    assert "Tried to allocate" in reasons["memory"]
    assert [(done, total) for done, total, _ in seen] == [(n, 8) for n in range(1, 9)]
    assert load_report(tmp_path / "parity.json") == report
    assert not (tmp_path / "parity.json.journal").exists()
    timed = report.results[0].speed
    assert timed is not None
    assert set(timed.sides) == {"fork", "plugin"}


def test_a_difference_names_the_program_that_writes_it(compiled, run) -> None:
    loose = _within_an_ulp()
    different = compiled("different", "add_one", "last_bit", loose)
    # Here the search itself hangs, which must not cost what had been found before.
    alone = compiled("alone", "endless_alone", "add_one", loose)
    report = run(different, alone)
    assert [result.verdict for result in report.results] == ["DIFFERENT", "DIFFERENT"]
    found, lost = (result.trials[0].bits[0] for result in report.results)
    assert "300 elements of y_ptr differ: 1 by at most 1 ULP" in report.results[0].reason
    assert (found.first_index, found.program) == ((3, 7), 3)
    assert (lost.first_index, lost.program) == ((3, 7), -1)


def _within_an_ulp() -> Kernel:
    """The kernel of the tests, with a bound that lets one ULP more pass."""

    def reference(spec, problem, inputs):  # type: ignore[no-untyped-def]
        value = inputs["x_ptr"] + 1.0
        return {"y_ptr": Expected(value, abs(value) * 2.0**-22)}

    return dataclasses.replace(sample.KERNEL, reference=reference)


def test_killed_run_resumes(compiled, bundle_of, tmp_path) -> None:
    """Killed in its second case, a run measures only what was not measured."""
    bundle = bundle_of(
        compiled("first", "add_one", "add_two"), compiled("second", "add_one", "endless")
    )
    out = tmp_path / "parity.json"
    program = (
        "import sys; from pathlib import Path; from harness.parity.session import run_parity;"
        f" run_parity(Path(sys.argv[1]), Path(sys.argv[2]), slots=['test-b'], quiet=600,"
        f" launcher={LAUNCHER!r}, progress=lambda *found: print(found[0], flush=True))"
    )
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{HERE}"}
    killed = subprocess.Popen(
        [sys.executable, "-c", program, str(bundle), str(out)],
        stdout=subprocess.PIPE,
        env=environment,
    )
    assert killed.stdout is not None
    with killed.stdout:
        assert killed.stdout.readline() == b"1\n"
    # Its worker hangs in the second case, and must not keep the GPU's lock.
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert not out.exists()
    # A line cut short by the kill is no reason to begin again.
    with (tmp_path / "parity.json.journal").open("ab") as journal:
        journal.write(b'{"slot":"test-b","dev')

    measured: list[ParityResult] = []
    report = session.run_parity(
        bundle,
        out,
        slots=["test-b"],
        launcher=LAUNCHER,
        quiet=QUIET,
        progress=lambda done, total, result: measured.append(result),
    )
    assert [result.verdict for result in measured] == ["TIMEOUT(plugin)"]
    assert [result.verdict for result in report.results] == ["WRONG(plugin)", "TIMEOUT(plugin)"]


def test_the_journal_of_another_bundle_is_not_taken_over(compiled, run, tmp_path) -> None:
    (tmp_path / "parity.json.journal").write_bytes(
        b'{"version":1,"bundle":"0000"}\n{"not":"an entry"}\n'
    )
    assert [r.verdict for r in run(compiled("k", "add_one", "add_one")).results] == [
        "BITWISE_EQUAL"
    ]


def test_cases_spread_over_gpus(compiled, run) -> None:
    cases = [compiled(f"k{n}", "add_one", "add_one_otherwise") for n in range(6)]
    report = run(*cases, slots=("test-c", "test-d"))
    assert {result.verdict for result in report.results} == {"BITWISE_EQUAL"}
    assert {result.gpu for result in report.results} == set(report.gpus) == {"test-c", "test-d"}


def test_a_run_waits_for_the_lock_of_its_gpu(compiled, run) -> None:
    ended: list[ParityReport] = []
    case = compiled("k", "add_one", "add_one")
    thread = threading.Thread(target=lambda: ended.append(run(case, slots=("test-e",), quiet=5.0)))
    with gpu_lock("test-e"):
        thread.start()
        thread.join(8)  # longer than a step may take: waiting is not hanging
        assert thread.is_alive()
    thread.join(60)
    assert [result.verdict for result in ended[0].results] == ["BITWISE_EQUAL"]


def test_another_architecture_is_an_error_that_says_so(compiled, store, bundle_of, run) -> None:
    case, spec, kernel, sides = compiled("k", "add_one", "add_one")
    other = msgspec.structs.replace(case, target=Target("cuda", "100"))
    with pytest.raises(HarnessError, match="compiled for cuda:100, this GPU is cuda:90"):
        run((other, spec, kernel, sides))


def test_no_gpu_is_an_error_with_a_way_out(
    compiled, bundle_of, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    with pytest.raises(HarnessError, match="torch finds no CUDA device") as caught:
        session.run_parity(bundle_of(compiled("k", "add_one", "add_one")), tmp_path / "p.json")
    assert caught.value.way_out


def test_launcher_that_cannot_start_is_an_error(compiled, run, bundle_of, tmp_path) -> None:
    with pytest.raises(HarnessError, match=r"did not start: .*no_such_module"):
        session.run_parity(
            bundle_of(compiled("k", "add_one", "add_one")),
            tmp_path / "parity.json",
            slots=["test-f"],
            launcher="no_such_module:Launcher",
        )


def test_skipped_cases_of_the_bundle_are_in_the_report(compiled, run) -> None:
    case, spec, kernel, sides = compiled("uncompiled", "add_one", "add_one")
    broken = msgspec.structs.replace(sides["plugin"], outcome=Outcome.CRASH, artifacts={})
    report = run(
        compiled("k", "add_one", "add_one"), (case, spec, kernel, {**sides, "plugin": broken})
    )
    assert report.results[1].state is State.SKIPPED
    assert "plugin gave no binary (CRASH)" in report.results[1].reason


def test_the_gpu_host_needs_little() -> None:
    """Of this project only its errors, of others numpy, torch, msgspec and cuda-bindings."""
    program = (
        "import sys; import numpy, torch, msgspec; before = set(sys.modules);"
        "import harness.parity.__main__, harness.parity.worker, harness.parity.cuda;"
        "print(*sorted(set(sys.modules) - before))"
    )
    ended = subprocess.run(
        [
            sys.executable,
            "-S",
            "-c",
            f"import sys; sys.path[:] = {[*sys.path, str(ROOT)]}; {program}",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = [name for name in ended.stdout.split() if not name.startswith("harness.parity")]
    ours = [name for name in loaded if name.startswith("harness")]
    assert ours == ["harness", "harness.errors"]
    foreign = {name.partition(".")[0] for name in loaded} - set(sys.stdlib_module_names)
    assert foreign <= {"harness", "numpy", "torch", "msgspec", "cuda"}


def test_command_line(compiled, bundle_of, tmp_path) -> None:
    """Without a GPU the module says so and ends with status 2, whatever the bundle."""
    bundle = bundle_of(compiled("k", "add_one", "add_one"))
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": str(ROOT)}
    for path, message in ((bundle, "no CUDA device"), (tmp_path / "absent", "No such file")):
        ended = subprocess.run(
            [sys.executable, "-m", "harness.parity", str(path), "-o", str(tmp_path / "o.json")],
            env=environment,
            capture_output=True,
            text=True,
        )
        assert ended.returncode == 2
        assert message in ended.stderr
        assert "way out:" in ended.stderr
