"""Pre-flight: each way in which plugins fail to load, on real libraries, told before it happens."""

import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from harness.errors import HarnessError
from harness.toolchains import (
    Finding,
    Toolchain,
    ensure,
    find_descriptor,
    identify,
    inherited,
    overlaid,
    preflight,
)
from harness.toolchains.descriptor import PLUGINS
from harness.toolchains.elf import Missing, missing_symbols

Build = Callable[..., Path]

AT_ONCE = """
extern int _ZN4mlir6NoSuch6createEv;
void *tritonGetPluginInfo(void) { return &_ZN4mlir6NoSuch6createEv; }
"""
SOURCE = PLUGINS / "null" / "null.c"


def laid(toolchain: Toolchain, *files: Path) -> Toolchain:
    return overlaid(toolchain, [find_descriptor(str(file)) for file in files])


def with_env(toolchain: Toolchain, value: str) -> Toolchain:
    return msgspec.structs.replace(toolchain, env={**toolchain.env, "TRITON_PLUGIN_PATHS": value})


def only(toolchain: Toolchain, check: str) -> Finding:
    (found,) = preflight(toolchain)
    assert found.check == check, found
    assert found.problem
    assert found.way_out
    return found


def would_not_start(toolchain: Toolchain) -> None:
    with pytest.raises(HarnessError):
        identify(toolchain)


def test_what_is_as_it_should_be_has_no_findings(
    three: Toolchain, plugin: Toolchain, fork: Toolchain, upstream: Toolchain
):
    for toolchain in (three, plugin, fork, upstream):
        assert preflight(toolchain) == []


def test_a_library_for_another_triton(upstream: Toolchain, build: Build):
    toolchain = laid(upstream, build("old", triton="3.7.1"))
    found = only(toolchain, "version")
    assert "built for Triton 3.7.1, and this is 3.8.0" in found.cause
    assert "upstream=triton==3.7.1" in found.way_out
    would_not_start(toolchain)
    local = laid(upstream, build("local", triton="3.8.0+mine"))
    assert preflight(local) == []  # Triton compares up to the plus sign
    assert identify(local).plugins[0].built_for_triton == "3.8.0+mine"


def test_a_library_for_another_plugin_interface(upstream: Toolchain, build: Build):
    toolchain = laid(upstream, build("api", "-DAPI_VERSION=3"))
    assert "plugin API version 3, and Triton wants 2" in only(toolchain, "api").cause
    would_not_start(toolchain)


def test_a_library_that_needs_what_triton_does_not_export(upstream: Toolchain, build: Build):
    found = only(laid(upstream, build("needy", source=AT_ONCE)), "symbols")
    assert "needs 1 symbols" in found.cause
    assert "_ZN4mlir6NoSuch6createEv" in found.cause
    would_not_start(laid(upstream, build("needy", source=AT_ONCE)))


def test_a_library_that_may_come_to_need_what_triton_does_not_export(
    upstream: Toolchain, build: Build
):
    source = SOURCE.read_text().replace("(void)builder, (void)operands;", "NoSuch();")
    source = "extern void NoSuch(void);\n" + source
    toolchain = laid(upstream, build("lazy", source=source))
    (note,) = preflight(toolchain)
    assert (note.check, note.problem) == ("symbols", False)
    assert "such as NoSuch: a compilation that comes to one of them" in note.cause
    assert identify(toolchain).plugins[0].ops == ("null_op",)


def test_the_real_plugin_needs_nothing_that_its_triton_lacks(plugin: Toolchain, fork: Toolchain):
    library = plugin.site_packages / "utlx_plugin" / "libutlx.so"
    assert missing_symbols(library, plugin.package / "_C" / "libtriton.so") == Missing((), ())
    assert len(missing_symbols(library, fork.package / "_C" / "libtriton.so").at_once) > 100


def test_the_real_plugin_on_a_triton_for_which_it_was_not_built(
    other_triton: Toolchain, plugin: Toolchain
):
    library = plugin.site_packages / "utlx_plugin" / "libutlx.so"
    toolchain = laid(other_triton, library)
    (problem,) = [finding for finding in preflight(toolchain) if finding.problem]
    if other_triton.release.startswith("3.7."):
        assert problem.check == "symbols"
        assert "loading it fails" in problem.cause
    else:
        assert "the process that loaded it ended with SIGSEGV" in problem.cause
    would_not_start(toolchain)


def test_a_triton_that_loads_no_plugins(fork: Toolchain, build: Build):
    assert "loads no plugins" in only(laid(fork, build("a")), "loading").cause


def test_a_way_that_this_triton_does_not_have(upstream: Toolchain, build: Build):
    descriptor = find_descriptor(str(build("a")))
    descriptor = msgspec.structs.replace(descriptor, loads=("extend_with",))
    found = only(overlaid(upstream, [descriptor]), "loading")
    assert "loads plugins by TRITON_PLUGIN_PATHS only" in found.cause


def test_files_that_are_no_plugins(upstream: Toolchain, build: Build, tmp_path: Path):
    other = build("other", source="int other(void) { return 1; }")
    assert "it is no plugin" in only(laid(upstream, other), "library").cause
    text = tmp_path / "text.so"
    text.write_text("not a library")
    assert "is no shared library" in only(laid(upstream, text), "library").cause


def test_a_library_that_is_not_built(upstream: Toolchain, tmp_path: Path):
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\nlibrary = "./no.so"\n')
    found = {finding.check: finding for finding in preflight(laid(upstream, path))}
    assert "no.so" in found["library"].cause
    assert "does not exist" in found["variable"].cause


def test_one_library_twice(upstream: Toolchain, build: Build, tmp_path: Path):
    library = build("a")
    copy = Path(shutil.copy(library, tmp_path / "copy.so"))
    assert "twice" in only(with_env(upstream, f"{library}:{library}"), "variable").cause
    assert f"and its copy {library}" in only(laid(upstream, library, copy), "variable").cause


def test_the_real_plugin_twice(plugin: Toolchain, tmp_path: Path):
    library = plugin.site_packages / "utlx_plugin" / "libutlx.so"
    copy = Path(shutil.copy(library, tmp_path))
    assert "and its copy" in only(with_env(plugin, str(copy)), "variable").cause


def test_a_variable_that_is_empty_or_names_nothing(upstream: Toolchain):
    for value, words in (("", "set and empty"), ("/nothing.so", "does not exist")):
        toolchain = with_env(upstream, value)
        assert words in only(toolchain, "variable").cause
        would_not_start(toolchain)


def test_a_variable_of_the_callers_own_is_said_and_not_passed_on(
    monkeypatch: pytest.MonkeyPatch, upstream: Toolchain
):
    assert inherited() == []
    monkeypatch.setenv("TRITON_PLUGIN_PATHS", "")
    (note,) = inherited()
    assert not note.problem
    assert "is not passed on" in note.cause
    assert identify(ensure("upstream")).plugins == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [("def inspect_stages(:", "cannot be read"), ("stages = 1", "defines no inspect_stages")],
)
def test_a_hook_that_is_none(upstream: Toolchain, tmp_path: Path, text: str, words: str):
    hook = tmp_path / "hook.py"
    hook.write_text(text)
    assert words in only(laid(upstream, hook), "hook").cause


@pytest.mark.parametrize(
    "text",
    ["from other import inspect_stages", "inspect_stages = print", "def inspect_stages(*a): ..."],
)
def test_a_hook_by_definition_import_or_assignment(upstream: Toolchain, tmp_path: Path, text: str):
    hook = tmp_path / "hook.py"
    hook.write_text(text)
    assert preflight(laid(upstream, hook)) == []
