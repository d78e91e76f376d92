from __future__ import annotations

import os
import shutil
from pathlib import Path

import msgspec
import pytest

from harness.model import ToolchainIdentity
from harness.toolchains import Toolchain, ensure, identify, proof_problems, verify


def with_env(toolchain: Toolchain, **variables: str) -> Toolchain:
    return msgspec.structs.replace(toolchain, env={**toolchain.env, **variables})


# --- identity -----------------------------------------------------------------------------


def test_identity_names_versions_llvm_and_libraries(fork: Toolchain, plugin: Toolchain) -> None:
    of_fork, of_plugin = identify(fork), identify(plugin)
    assert of_fork.distributions == ("fbtriton==3.7.4",)
    assert of_fork.triton_version.startswith("3.7.4")
    assert of_fork.llvm_revision.startswith("62b7cf96")
    assert of_plugin.distributions == ("triton-utlx==3.8.0.post16", "triton==3.8.0")
    assert of_plugin.llvm_revision.startswith("5f07f818")
    for name in ("ptxas", "ptxas-blackwell", "nvdisasm"):
        assert f"triton/backends/nvidia/bin/{name}" in of_fork.libraries
    assert (
        of_fork.libraries["triton/_C/libtriton.so"] != of_plugin.libraries["triton/_C/libtriton.so"]
    )
    assert "utlx_plugin/libutlx.so" in of_plugin.libraries
    assert msgspec.json.decode(msgspec.json.encode(of_plugin), type=ToolchainIdentity) == of_plugin


def test_fingerprint_depends_on_contents_not_on_place(
    small: Toolchain, upstream: Toolchain, scratch: Path
) -> None:
    again = ensure("plugin", str(upstream.site_packages), cache=scratch / "elsewhere")
    assert again.interpreter != small.interpreter
    assert identify(again).fingerprint == identify(small).fingerprint


@pytest.mark.parametrize(
    "file", ["utlx_plugin/libutlx.so", "utlx_plugin/custom_stages.py", "utlx_plugin.pth"]
)
def test_an_edited_file_changes_the_fingerprint_and_fails_verification(
    small: Toolchain, file: str
) -> None:
    before = identify(small)
    assert verify(small) == []
    path = small.site_packages / file
    stat = path.stat()
    path.write_bytes(path.read_bytes()[:-1] + b"\n")  # a comment's or section table's last byte
    path.write_bytes(path.read_bytes() + b"\n")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # as rsync or tar would leave it
    assert identify(small).fingerprint != before.fingerprint
    (problem,) = verify(small)
    assert "triton-utlx" in problem
    assert f"{file} has changed" in problem


def test_added_and_missing_files_fail_verification(small: Toolchain) -> None:
    before = identify(small)
    (small.site_packages / "utlx_plugin" / "extra.py").write_text("")
    assert identify(small).fingerprint != before.fingerprint
    (small.site_packages / "utlx_plugin" / "mma_ops.py").unlink()
    problems = "\n".join(verify(small))
    assert "utlx_plugin/extra.py was added" in problems
    assert "utlx_plugin/mma_ops.py is missing" in problems


def test_a_patched_compiler_changes_the_fingerprint(upstream: Toolchain, scratch: Path) -> None:
    overlay = scratch / "overlay"

    def copy(source: str, target: str) -> None:
        if source.endswith("libtriton.so"):
            shutil.copyfile(source, target)
        else:
            os.symlink(source, target)

    shutil.copytree(upstream.package, overlay / "triton", copy_function=copy)
    toolchain = ensure("upstream", str(overlay), cache=scratch)
    before = identify(toolchain)
    assert before.libraries == identify(upstream).libraries
    with open(overlay / "triton" / "_C" / "libtriton.so", "ab") as library:
        library.write(b"\0")
    after = identify(toolchain)
    assert after.fingerprint != before.fingerprint
    changed = {name for name in after.libraries if after.libraries[name] != before.libraries[name]}
    assert changed == {"triton/_C/libtriton.so"}


# --- proof --------------------------------------------------------------------------------


def test_plugin_is_mapped_after_import_and_not_before(plugin: Toolchain) -> None:
    (proof,) = identify(plugin).plugins
    assert (proof.mapped_before_import, proof.mapped_after_import) == (False, True)
    assert proof.library == "utlx_plugin/libutlx.so"
    assert proof.api_version == 2
    assert proof.built_for_triton.startswith("3.8.0")
    assert (len(proof.passes), len(proof.ops), proof.dialects) == (20, 60, ("TLXDialect",))


def test_fork_and_upstream_load_no_plugin(fork: Toolchain, upstream: Toolchain) -> None:
    assert identify(fork).plugins == identify(upstream).plugins == ()


def test_plugin_that_does_not_register_itself_is_void(plugin: Toolchain) -> None:
    suppressed = with_env(plugin, UTLX_NO_AUTOREGISTER="1")
    identity = identify(suppressed)
    assert proof_problems(identity, suppressed) == [
        "plugin: plugin utlx (utlx_plugin/libutlx.so) is not loaded by importing triton"
    ]
    assert identity.plugins[0].passes == ()


def test_plugin_that_is_mapped_before_import_is_void(plugin: Toolchain, scratch: Path) -> None:
    toolchain = ensure("plugin", str(plugin.site_packages), cache=scratch)
    library = plugin.site_packages / "utlx_plugin" / "libutlx.so"
    (toolchain.site_packages / "sitecustomize.py").write_text(
        f"import mmap; file = open({str(library)!r}, 'rb')\n"
        "early = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)\n"
    )
    (problem,) = proof_problems(identify(toolchain), toolchain)
    assert "mapped before triton is imported" in problem


def test_promise_that_the_library_does_not_keep_is_void(plugin: Toolchain) -> None:
    descriptor = msgspec.structs.replace(
        plugin.descriptors[0],
        passes=(*plugin.descriptors[0].passes, "utlx_make_coffee"),
        ops=(*plugin.descriptors[0].ops, "utlx_sugar"),
        dialects=("TLXDialect", "Cups"),
    )
    toolchain = msgspec.structs.replace(plugin, descriptors=(descriptor,))
    (problem,) = proof_problems(identify(toolchain), toolchain)
    assert problem.endswith("pass utlx_make_coffee, op utlx_sugar, dialect Cups")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"api_version": 3}, "has API version 2, not 3"),
        ({"built_for_triton": "3.9.0"}, "is built for Triton 3.8.0"),
        ({"library": "utlx_plugin/libother.so"}, "is not installed"),
    ],
)
def test_descriptor_that_does_not_fit_is_void(
    plugin: Toolchain, changes: dict[str, object], words: str
) -> None:
    descriptor = msgspec.structs.replace(plugin.descriptors[0], **changes)
    toolchain = msgspec.structs.replace(plugin, descriptors=(descriptor,))
    problems = proof_problems(identify(toolchain), toolchain)
    assert any(words in problem for problem in problems)


def test_upstream_with_a_plugin_is_void(upstream: Toolchain) -> None:
    library = upstream.package / "plugins" / "libTritonPluginsTestLib.so"
    toolchain = with_env(upstream, TRITON_PLUGIN_PATHS=str(library))
    assert proof_problems(identify(toolchain), toolchain) == [
        f"upstream: {library} is loaded, which is no part of this role"
    ]


def test_roles_given_the_wrong_environment_are_void(
    fork: Toolchain, plugin: Toolchain, upstream: Toolchain
) -> None:
    def words(role: str, other: Toolchain) -> str:
        toolchain = ensure(role, str(other.interpreter))
        return "; ".join(proof_problems(identify(toolchain), toolchain))

    assert "it is a fork" in words("plugin", fork)
    assert "plugin utlx (utlx_plugin/libutlx.so) is not installed" in words("plugin", fork)
    assert "is not installed" in words("plugin", upstream)
    assert "it is not the fork" in words("fork", upstream)
    assert "libutlx.so is loaded" in words("fork", plugin)
    assert "libutlx.so is loaded" in words("upstream", plugin)
