"""Workers: whatever a kernel does to its compiler costs that case only, and is named."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import corpus, toolchains
from harness.compile import compile_case
from harness.errors import HarnessError
from harness.model import Case, Compilation, Outcome
from harness.store import Store
from harness.worker.stepping import parse_pipeline
from harness.workers import Limits, Worker

LIMITS = Limits(deadline=20.0, disk=64 << 20)


@pytest.fixture(scope="module")
def worker(plugin: toolchains.Toolchain) -> Iterator[Worker]:
    controls = toolchains.controls("controlled", {"plugin": plugin})
    with Worker(plugin, controls, LIMITS) as made:
        yield made


def only_case(folder: Path) -> Case:
    (case,) = corpus.load([folder]).cases
    return case


def attempt(worker: Worker, folder: Path, tmp_path: Path) -> Compilation:
    return compile_case(
        worker, only_case(folder), "fingerprint", Store(tmp_path / "store"), snapshots=True
    )


def test_a_kernel_compiles_and_every_stage_is_kept(worker: Worker, write_kernel, tmp_path: Path):
    folder = write_kernel("good")
    done = attempt(worker, folder, tmp_path)
    assert done.outcome is Outcome.OK
    assert {"ttir", "ttgir", "raw.ttir", "raw.ttgir", "llir", "ptx", "cubin", "metadata"} <= set(
        done.artifacts
    )
    store = Store(tmp_path / "store")
    ttgir = store.read(done.artifacts["ttgir"])
    assert ttgir is not None
    assert b"ttg.local_store" in ttgir
    assert b"loc(" not in ttgir  # checkpoints are printed without debug information
    assert store.read(done.artifacts["cubin"])[:4] == b"\x7fELF"  # type: ignore[index]
    names = [step.name for step in done.trace]
    assert names[0] == "front end"
    assert "tritongpu-coalesce" in names
    kept = store.snapshots(done.key)
    assert all(step.snapshot and kept(step.sha256) for step in done.trace)
    unread = compile_case(worker, only_case(folder), "fingerprint", store, fresh=True)
    assert not store.has_snapshots(unread.key)  # asked for by explanations only
    assert [s.sha256 for s in unread.trace] == [s.sha256 for s in done.trace]


@pytest.mark.parametrize("side", ["fork", "plugin"])
def test_stepping_changes_no_artifact(
    side: str, write_kernel, tmp_path: Path, request: pytest.FixtureRequest
):
    toolchain = request.getfixturevalue(side)
    controls = toolchains.controls("controlled", {side: toolchain})
    case = only_case(write_kernel("good"))
    store = Store(tmp_path / "store")
    with Worker(toolchain, controls, LIMITS) as worker:
        stepped = compile_case(worker, case, "f", store)
        plain = compile_case(worker, case, "f", store, again=True)
    assert stepped.trace
    assert not plain.trace
    for stage in case.target.stages:
        assert stepped.artifacts[stage] == plain.artifacts[stage]


def test_the_names_that_a_compilation_uses_are_noted(worker: Worker, write_kernel, tmp_path: Path):
    dead = "    if BLOCK < 0:\n        tlx.fence('gpu')\n    tlx.cluster_size_1d()\n    mask ="
    done = attempt(worker, write_kernel("ends", replace={"    mask =": dead}), tmp_path)
    assert done.outcome is Outcome.ERROR
    # Looked up by the kernel before it failed, and instances that its operations made.
    assert {"local_alloc", "buffered_tensor", "shared_layout_encoding"} <= set(done.names)
    assert "cluster_size_1d" in done.names
    assert not {"fence", "local_store"} & set(done.names)  # switched off, and never reached


PROTOCOL_NOISE = """
import os
for descriptor in range(1, 32):
    try:
        os.write(descriptor, b'{"id": 1, "exit_status": 0}\\n')
    except OSError:
        pass
"""


@pytest.mark.parametrize(
    ("source", "outcome", "words"),
    [
        ("import nonsense_module", Outcome.UNSUPPORTED, "No module named 'nonsense_module'"),
        ("raise ValueError('bad kernel file')", Outcome.ERROR, "bad kernel file"),
        ("def f(:", Outcome.ERROR, "invalid syntax"),
        ("x = 1", Outcome.ERROR, "defines no 'bad'"),
        ("def bad(): pass", Outcome.ERROR, "is not a @triton.jit function"),
        ("import sys; sys.exit(3)", Outcome.ERROR, "3"),
        ("import os; os._exit(7)", Outcome.CRASH, "exit status 7"),
        ("import os; os._exit(0)", Outcome.CRASH, "exit status 0"),
        ("import os; os.abort()", Outcome.CRASH, "SIGABRT"),
        ("import ctypes; ctypes.string_at(0)", Outcome.CRASH, "SIGSEGV"),
        ("x = bytearray(64 << 30)", Outcome.ERROR, "MemoryError"),
    ],
)
def test_a_kernel_that_misbehaves_is_named(
    worker: Worker, write_kernel, tmp_path: Path, source: str, outcome: Outcome, words: str
):
    done = attempt(worker, write_kernel("bad", source), tmp_path)
    assert done.outcome is outcome
    assert done.failure is not None
    assert words in done.failure.message + done.failure.exception
    assert done.failure.phase == "import"


def test_a_hang_is_killed_at_its_deadline_with_everything_it_started(
    plugin: toolchains.Toolchain, write_kernel, tmp_path: Path
):
    pid_file = tmp_path / "pid"
    source = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        f"    open({str(pid_file)!r}, 'w').write(str(os.getpid()))\n"
        "time.sleep(600)\n"
    )
    controls = toolchains.controls("controlled", {"plugin": plugin})
    with Worker(plugin, controls, Limits(deadline=2.0)) as worker:
        began = time.monotonic()
        done = attempt(worker, write_kernel("hang", source), tmp_path)
        assert time.monotonic() - began < 15
    assert done.outcome is Outcome.TIMEOUT
    assert done.failure is not None
    assert "deadline" in done.failure.message
    survivor = int(pid_file.read_text())
    for _ in range(50):
        if not Path(f"/proc/{survivor}").exists():
            break
        time.sleep(0.1)
    assert not Path(f"/proc/{survivor}").exists()


def test_a_flood_of_output_is_cut_and_says_so(worker: Worker, write_kernel, tmp_path: Path):
    source = (
        "import sys\nfor _ in range(2000): sys.stdout.write('x' * 10000)\nraise ValueError('end')"
    )
    done = attempt(worker, write_kernel("flood", source), tmp_path)
    assert done.outcome is Outcome.ERROR
    printed = Store(tmp_path / "store").read(done.artifacts["stderr"])
    assert printed is not None
    assert len(printed) < 100_000
    assert b"bytes not kept" in printed


def test_filling_the_folder_is_stopped(worker: Worker, write_kernel, tmp_path: Path):
    source = (
        "import itertools, time\n"
        "for n in itertools.count():\n"
        "    open(f'fill{n}', 'wb').write(bytes(8 << 20))\n"
        "    time.sleep(0.02)\n"
    )
    done = attempt(worker, write_kernel("fill", source), tmp_path)
    assert done.outcome is Outcome.CRASH
    assert done.failure is not None
    assert "more into its folder" in done.failure.message


def test_prints_on_any_descriptor_do_not_corrupt_the_protocol(
    worker: Worker, write_kernel, tmp_path: Path
):
    template = (write_kernel("plain") / "plain" / "kernel.py").read_text()
    noisy = template.replace("import triton\n", PROTOCOL_NOISE + "import triton\n", 1)
    folder = write_kernel("noisy", noisy.replace("def plain", "def noisy"))
    cases = {case.kernel: case for case in corpus.load([folder]).cases}
    done = compile_case(worker, cases["noisy"], "f", Store(tmp_path / "store"))
    assert done.outcome is Outcome.OK


def test_a_name_that_a_side_lacks_is_unsupported_not_an_error(
    worker: Worker, write_kernel, tmp_path: Path
):
    folder = write_kernel("lacks", replace={"tlx.local_view": "tlx.no_such_operation"})
    done = attempt(worker, folder, tmp_path)
    assert done.outcome is Outcome.UNSUPPORTED
    assert done.failure is not None
    assert "no_such_operation" in done.failure.message


def test_the_failing_pass_is_named(worker: Worker, write_kernel, tmp_path: Path):
    """cp.async moves at least 4 bytes: one-element fp16 copies are refused late, in a pass."""
    source = """
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def narrow(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    buffers = tlx.local_alloc((BLOCK,), tl.float16, 1)
    offsets = tl.arange(0, BLOCK)
    token = tlx.async_load(x_ptr + offsets, tlx.local_view(buffers, 0), mask=offsets < n)
    tlx.async_load_commit_group([token])
    tlx.async_load_wait_group(0)
    tl.store(y_ptr + offsets, tlx.local_load(tlx.local_view(buffers, 0)))
"""
    folder = write_kernel(
        "narrow",
        source,
        case_replace={"*fp32": "*fp16", 'divisible_by_16=("x_ptr", "y_ptr"),': ""},
    )
    done = attempt(worker, folder, tmp_path)
    assert done.outcome is Outcome.ERROR
    assert done.failure is not None
    assert done.failure.phase == "make_llir"
    assert done.failure.pass_name == "convert-triton-gpu-to-llvm"
    assert "cp.async does not support transfers smaller than 4 bytes" in done.failure.message


def test_an_unchanged_case_is_not_compiled_again(worker: Worker, write_kernel, tmp_path: Path):
    folder = write_kernel("good")
    first = attempt(worker, folder, tmp_path)
    again = attempt(worker, folder, tmp_path)
    assert again == first  # the recorded time too: nothing ran
    path = folder / "good" / "kernel.py"
    path.write_text(path.read_text().replace("* 2.0", "* 4.0"))
    changed = attempt(worker, folder, tmp_path)
    assert changed.key != first.key
    assert changed.artifacts["cubin"] != first.artifacts["cubin"]


def test_a_worker_that_dies_fails_its_case_and_the_next_starts_another(
    plugin: toolchains.Toolchain, write_kernel, tmp_path: Path
):
    source = "import os, signal, time\nos.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(1)"
    controls = toolchains.controls("controlled", {"plugin": plugin})
    with Worker(plugin, controls, LIMITS) as worker:
        done = attempt(worker, write_kernel("killer", source), tmp_path)
        assert done.failure is not None
        assert done.failure.phase == "harness"
        folder = write_kernel("good")
        case = next(c for c in corpus.load([folder]).cases if c.kernel == "good")
        assert compile_case(worker, case, "f", Store(tmp_path / "store")).outcome is Outcome.OK


def test_an_interpreter_without_triton_is_one_clear_error(
    plugin: toolchains.Toolchain, tmp_path: Path
):
    import msgspec

    bare = msgspec.structs.replace(plugin, interpreter=Path("/usr/bin/env"), env=dict(os.environ))
    controls = toolchains.controls("shipped", {"plugin": plugin})
    with Worker(bare, controls, LIMITS) as worker, pytest.raises(HarnessError) as caught:
        worker.identity()
    assert "plugin" in caught.value.thing


@given(
    st.lists(st.sampled_from(["any", "builtin.module", "tt.func", "llvm.func"]), max_size=3),
    st.from_regex(r"[a-z][a-z0-9-]{0,20}", fullmatch=True),
    st.one_of(st.just(""), st.from_regex(r"[a-z]+=[a-z0-9:{},]{0,8}", fullmatch=True)),
)
def test_a_pass_is_found_in_its_pipeline(around: list[str], name: str, options: str):
    text = name + (f"{{{options}}}" if options else "")
    for anchor in around:
        text = f"{anchor}({text})"
    assert parse_pipeline(text) == (name, options)
