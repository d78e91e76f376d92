from __future__ import annotations

import base64
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from importlib.metadata import distributions
from pathlib import Path

import pytest
import uv

from harness.errors import HarnessError
from harness.toolchains import Toolchain, declared, ensure, identify, proof_problems, verify
from harness.toolchains.declaration import PLUGINS

ROOT = PLUGINS.parent
ENSURE = """
import sys
from pathlib import Path
from harness.toolchains import ensure
made = ensure("plugin", sys.argv[1], cache=Path(sys.argv[2]), progress=print)
print(made.interpreter)
"""


def start(override: str, cache: Path) -> subprocess.Popen[str]:
    """``ensure`` in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", ENSURE, override, str(cache)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def made_for(toolchain: Toolchain) -> list[str]:
    """What lies beside a toolchain's environment: its own folder and lock, nothing else."""
    return sorted(path.name for path in toolchain.interpreter.parents[2].iterdir())


# --- the environments ---------------------------------------------------------------------


def test_pinned_environments_are_whole_and_proven(
    fork: Toolchain, plugin: Toolchain, upstream: Toolchain
) -> None:
    for toolchain in (fork, plugin, upstream):
        assert verify(toolchain) == []
        assert proof_problems(identify(toolchain), toolchain) == []


def test_warm_ensure_starts_no_process(plugin: Toolchain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    assert ensure("plugin") == plugin


def test_only_allow_listed_variables_reach_a_toolchain(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TRITON_PLUGIN_PATHS", "PYTHONPATH", "LD_PRELOAD", "TRITON_PTXAS_PATH", "FOO"):
        monkeypatch.setenv(name, "/x")
    monkeypatch.setenv("LANG", "C.UTF-8")
    env = ensure("fork").env
    assert env["LANG"] == "C.UTF-8"
    assert env["PYTHONNOUSERSITE"] == "1"
    assert "/x" not in env.values()


def test_cache_folder_is_chosen_by_argument_then_variable_then_xdg(
    small: Toolchain, upstream: Toolchain, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert small.interpreter.is_relative_to(scratch)
    shutil.move(scratch / "toolchains", scratch / "tlx-equiv" / "toolchains")
    monkeypatch.setenv("XDG_CACHE_HOME", str(scratch))
    monkeypatch.setenv("TLX_EQUIV_CACHE", str(scratch / "tlx-equiv"))
    monkeypatch.setattr(subprocess, "run", None)  # found there, not made again
    found = ensure("plugin", str(upstream.site_packages))
    monkeypatch.delenv("TLX_EQUIV_CACHE")
    assert ensure("plugin", str(upstream.site_packages)) == found
    assert found.interpreter.is_relative_to(scratch / "tlx-equiv")


# --- what can go wrong --------------------------------------------------------------------


def test_wrong_hash_is_refused_and_leaves_nothing(scratch: Path) -> None:
    folder = Path(shutil.copytree(PLUGINS, scratch / "plugins"))
    lock = folder / "locks" / "plugin.txt"
    name, _, _ = lock.read_text().rpartition("triton-utlx==3.8.0.post16")
    lock.write_text(f"{name}triton-utlx==3.8.0.post16 --hash=sha256:{'0' * 64}\n")
    with pytest.raises(HarnessError) as raised:
        ensure("plugin", cache=scratch, declaration=declared(folder))
    assert "triton-utlx" in raised.value.cause
    assert "hash" in raised.value.cause.lower()
    assert "plugins/locks/plugin.txt" in raised.value.way_out
    assert [path.suffix for path in (scratch / "toolchains").iterdir()] == [".lock"]


def test_without_a_network_the_cause_and_the_way_out_are_named(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(scratch / "uv"))
    with pytest.raises(HarnessError) as raised:
        ensure("fork", cache=scratch)
    assert "fbtriton" in raised.value.cause
    assert "network" in raised.value.cause
    assert "fork=/path/to/venv" in raised.value.way_out


@pytest.mark.parametrize("below", ["file", "proc"])
def test_unwritable_cache_is_named(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_text("")
    cache = tmp_path / "file" if below == "file" else Path("/proc/tlx")
    with pytest.raises(HarnessError) as raised:
        ensure("fork", cache=cache)
    assert str(cache) in raised.value.thing
    assert "TLX_EQUIV_CACHE" in raised.value.way_out


def test_killed_while_making_then_made_again(upstream: Toolchain, scratch: Path) -> None:
    override = str(upstream.site_packages)
    process = start(override, scratch)
    deadline = time.monotonic() + 30
    while not list(scratch.glob("toolchains/.plugin-*/environment/pyvenv.cfg")):
        assert time.monotonic() < deadline, process.communicate()[0]
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not list(scratch.glob("toolchains/plugin-*/bin"))

    toolchain = ensure("plugin", override, cache=scratch)
    assert proof_problems(identify(toolchain), toolchain) == []
    assert len(made_for(toolchain)) == 2  # what the killed process left is gone


def test_two_processes_make_one_environment(upstream: Toolchain, scratch: Path) -> None:
    both = [start(str(upstream.site_packages), scratch) for _ in range(2)]
    words = [process.communicate(timeout=60)[0].splitlines() for process in both]
    assert [process.returncode for process in both] == [0, 0], words
    assert words[0][-1] == words[1][-1]
    assert sum("installing" in line for lines in words for line in lines) == 1
    assert len(list((scratch / "toolchains").iterdir())) == 2


def test_environment_whose_base_interpreter_is_gone_is_made_again(
    small: Toolchain, upstream: Toolchain, scratch: Path
) -> None:
    small.interpreter.unlink()
    small.interpreter.symlink_to("/nonexistent/python")
    assert ensure("plugin", str(upstream.site_packages), cache=scratch) == small
    assert identify(small).python.startswith("3.")


@pytest.mark.parametrize(("size", "words"), [(4096, "SIGBUS"), (0, "libutlx.so: file too short")])
def test_import_that_fails_is_told_in_the_compilers_words(
    small: Toolchain, size: int, words: str
) -> None:
    os.truncate(small.site_packages / "utlx_plugin" / "libutlx.so", size)
    with pytest.raises(HarnessError) as raised:
        identify(small)
    assert words in raised.value.cause
    assert "delete" in raised.value.way_out


# --- overrides ----------------------------------------------------------------------------


def test_a_virtual_environment_and_its_interpreter_are_the_same_toolchain(
    plugin: Toolchain, scratch: Path
) -> None:
    venv = plugin.interpreter.parents[1]
    by_venv = ensure("plugin", str(venv), cache=scratch)
    by_python = ensure("plugin", str(plugin.interpreter), cache=scratch)
    assert by_venv.package == by_python.package == plugin.package
    wanted = identify(plugin).fingerprint
    assert identify(by_venv).fingerprint == identify(by_python).fingerprint == wanted
    assert not (scratch / "toolchains").exists()


def test_a_folder_with_a_triton_package_is_laid_over(small: Toolchain, upstream: Toolchain) -> None:
    identity = identify(small)
    assert small.package == upstream.package
    assert proof_problems(identity, small) == []
    assert identity.distributions == ("triton-utlx==3.8.0.post16", "triton==3.8.0")
    assert not (small.site_packages / "triton").exists()


def test_a_requirement_replaces_its_pin(upstream: Toolchain, scratch: Path) -> None:
    override = f"{upstream.site_packages},triton-utlx==3.8.0.post15"
    toolchain = ensure("plugin", override, cache=scratch)
    identity = identify(toolchain)
    assert "triton-utlx==3.8.0.post15" in identity.distributions
    assert proof_problems(identity, toolchain) == []


def test_a_wheel_replaces_its_pin(plugin: Toolchain, upstream: Toolchain, scratch: Path) -> None:
    wheel = wheel_of(plugin, "triton-utlx", scratch, b"# from our own wheel\n")
    toolchain = ensure("plugin", f"{upstream.site_packages},{wheel}", cache=scratch)
    stages = toolchain.site_packages / "utlx_plugin" / "custom_stages.py"
    assert stages.read_text().endswith("# from our own wheel\n")
    identity = identify(toolchain)
    assert proof_problems(identity, toolchain) == []
    assert identity.fingerprint != identify(plugin).fingerprint


def wheel_of(toolchain: Toolchain, name: str, folder: Path, addition: bytes) -> Path:
    """The installed distribution packed again, with an addition to its custom_stages.py."""
    (found,) = distributions(name=name, path=[str(toolchain.site_packages)])
    path = folder / f"{name.replace('-', '_')}-{found.version}-py3-none-any.whl"
    record = []
    with zipfile.ZipFile(path, "w") as wheel:
        for file in found.files or []:
            if file.parts[0] == ".." or file.name in ("RECORD", "INSTALLER", "REQUESTED"):
                continue
            data = Path(str(file.locate())).read_bytes()
            data += addition if file.name == "custom_stages.py" else b""
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
            record.append(f"{file},sha256={digest.decode()},{len(data)}")
            wheel.writestr(str(file), data)
        info = f"{name.replace('-', '_')}-{found.version}.dist-info"
        wheel.writestr(f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,"]))
    return path


@pytest.mark.parametrize(
    ("override", "cause"),
    [
        ("/nonexistent/venv", "no path that exists"),
        ("fbtriton", "no pinned requirement"),
        ("fbtriton>=3.7", "no pinned requirement"),
        ("fbtriton==3.7.4,", "no pinned requirement"),
        ("empty", "no triton package"),
        ("text", "neither an interpreter nor a wheel"),
        ("bad.whl", "not a zip file"),
        ("other.whl", "no triton package"),
        ("absent.whl", "No such file"),
        ("script", "does not work as a Python interpreter"),
        ("venv", "no triton package"),
    ],
)
def test_unusable_override_is_named_with_its_cause(
    override: str, cause: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").write_text("hello")
    (tmp_path / "bad.whl").write_text("hello")
    with zipfile.ZipFile(tmp_path / "other.whl", "w") as wheel:
        wheel.writestr("other/__init__.py", "")
    (tmp_path / "script").write_text("#!/bin/sh\nexit 3\n")
    os.chmod(tmp_path / "script", 0o755)
    subprocess.run(
        [uv.find_uv_bin(), "venv", "-q", "--python", sys.executable, tmp_path / "venv"], check=True
    )
    with pytest.raises(HarnessError) as raised:
        ensure("fork", override, cache=tmp_path / "cache")
    assert override.split(",")[0] in raised.value.thing
    assert cause in raised.value.cause
    assert raised.value.way_out
