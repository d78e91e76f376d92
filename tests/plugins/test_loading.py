"""Loading: by the variable, by functions, by a stage hook; and what proves it."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from harness.errors import HarnessError
from harness.model import ToolchainIdentity
from harness.toolchains import Toolchain, find_descriptor, identify, overlaid, proof_problems

Build = Callable[..., Path]

HOOK = "def inspect_stages(backend, stages, options, language, capability):\n    pass\n"


def laid(upstream: Toolchain, *files: Path) -> Toolchain:
    return overlaid(upstream, [find_descriptor(str(file)) for file in files])


def test_three_libraries_at_once_reach_triton_by_its_variable(of_three: ToolchainIdentity):
    for proof in of_three.plugins:
        assert (proof.mapped_before_import, proof.mapped_after_import) == (False, True)
        assert proof.way == "TRITON_PLUGIN_PATHS"
        assert proof.built_for_triton == of_three.triton_version == "3.8.0"
        assert proof.ops_without_result == ()


def test_the_same_plugin_loads_on_other_tritons_by_their_own_way(
    other_triton: Toolchain, made_null: None
):
    toolchain = overlaid(other_triton, [find_descriptor("null")])
    identity = identify(toolchain)
    assert proof_problems(identity, toolchain) == []
    (proof,) = identity.plugins
    old = other_triton.release.startswith("3.7.")
    assert proof.way == ("TRITON_PLUGIN_PATHS" if old else "extend_with")
    assert proof.ops_without_result == (("null_op",) if old else ())


def test_the_fingerprint_covers_bytes_and_order_and_no_places(
    upstream: Toolchain, build: Build, tmp_path: Path
):
    first, second = build("a"), build("a")
    assert first.read_bytes() == second.read_bytes()
    hook = tmp_path / "a-hook.py"
    hook.write_text(HOOK)
    print_of = {
        "one place": identify(laid(upstream, first)).fingerprint,
        "with a hook": identify(laid(upstream, first, hook)).fingerprint,
        "hook first": identify(laid(upstream, hook, first)).fingerprint,
    }
    assert identify(laid(upstream, second)).fingerprint == print_of["one place"]
    hook.write_text(HOOK + "#\n")
    print_of["another hook"] = identify(laid(upstream, first, hook)).fingerprint
    first.write_bytes(first.read_bytes() + b"\0")
    print_of["another library"] = identify(laid(upstream, first)).fingerprint
    assert len(set(print_of.values())) == len(print_of)


def test_a_promise_that_is_not_kept_is_a_problem(upstream: Toolchain, made_null: None):
    descriptor = msgspec.structs.replace(
        find_descriptor("null"),
        passes=("null_pass", "half_pass"),
        dialects=("NullDialect", "Tea"),
        module="triton.language.extra.nosuch",
    )
    toolchain = overlaid(upstream, [descriptor])
    missing, module = proof_problems(identify(toolchain), toolchain)
    assert missing.endswith("does not register pass half_pass, dialect Tea")
    assert module.endswith("does not bring the module triton.language.extra.nosuch")


def test_ops_whose_results_are_lost_are_a_problem_where_kernels_can_reach_them(
    three: Toolchain, of_three: ToolchainIdentity
):
    silent = msgspec.structs.replace(of_three.plugins[0], ops_without_result=("null_op",))
    identity = msgspec.structs.replace(of_three, plugins=(silent, *of_three.plugins[1:]))
    assert proof_problems(identity, three) == []  # no module: nothing calls its ops
    reachable = msgspec.structs.replace(three.descriptors[0], module="null")
    toolchain = msgspec.structs.replace(three, descriptors=(reachable, *three.descriptors[1:]))
    (problem,) = proof_problems(identity, toolchain)
    assert "1 of the 1 ops" in problem
    assert "null_op" in problem


def test_a_hook_that_another_replaces_has_not_joined(upstream: Toolchain, tmp_path: Path):
    first, second = tmp_path / "first.py", tmp_path / "second.py"
    first.write_text(HOOK)
    second.write_text(
        f"from triton import knobs\n{HOOK}\n" + "knobs.runtime.add_stages_inspection_hook = None\n"
    )
    toolchain = laid(upstream, first, second)
    identity = identify(toolchain)
    assert [proof.hook_joined for proof in identity.plugins] == [False, True]
    (problem,) = proof_problems(identity, toolchain)
    assert "first.py has not joined" in problem


def test_a_hook_that_cannot_be_imported_is_named(upstream: Toolchain, tmp_path: Path):
    hook = tmp_path / "broken.py"
    hook.write_text(f"import nosuch\n{HOOK}")
    with pytest.raises(HarnessError) as raised:
        identify(laid(upstream, hook))
    assert "broken.py" in raised.value.cause
    assert "No module named 'nosuch'" in raised.value.cause
