"""Descriptors: by name or by file, and what is wrong with a file."""

from pathlib import Path

import pytest

from harness.compare import RULES
from harness.errors import HarnessError
from harness.model import ToolchainIdentity
from harness.toolchains import (
    Toolchain,
    controls,
    find_descriptor,
    known_descriptors,
    overlaid,
    proof_problems,
)

ROOT = Path(__file__).resolve().parents[2]


def test_plugins_that_are_described_promise_exactly_what_their_libraries_register(
    three: Toolchain, of_three: ToolchainIdentity
):
    assert proof_problems(of_three, three) == []
    assert [proof.plugin for proof in of_three.plugins] == [d.name for d in three.descriptors]
    for descriptor, proof in zip(three.descriptors, of_three.plugins, strict=True):
        for kind in ("passes", "ops", "dialects"):
            assert getattr(descriptor, kind) == getattr(proof, kind), descriptor.name


def test_every_description_can_be_read_and_names_rules_that_exist():
    known = {descriptor.name: descriptor for descriptor in known_descriptors()}
    assert {"utlx", "null", "idle", "triton-test-passes", "triton-test-dialect"} <= known.keys()
    for name, descriptor in known.items():
        assert find_descriptor(name) == descriptor
        assert set(descriptor.rules) <= RULES.keys()
        assert not descriptor.hook or Path(descriptor.hook).is_file()


def test_a_file_describes_paths_relative_to_itself(tmp_path: Path):
    (tmp_path / "mine.toml").write_text(
        'name = "mine"\nlibrary = "./lib/a-{triton}.so"\nhook = "mine.py"\n'
    )
    found = find_descriptor(str(tmp_path / "mine.toml"))
    assert found.library == str(tmp_path / "lib" / "a-{triton}.so")
    assert found.hook == str(tmp_path / "mine.py")
    assert found.loads == ("TRITON_PLUGIN_PATHS", "extend_with")


def test_a_library_or_a_hook_is_a_plugin_that_promises_nothing(tmp_path: Path):
    for name in ("idea.py", "idea.so"):
        (tmp_path / name).write_text("")
    hook, library = (find_descriptor(str(tmp_path / n)) for n in ("idea.py", "idea.so"))
    assert (hook.name, hook.hook, hook.library) == ("idea", str(tmp_path / "idea.py"), "")
    assert (library.name, library.library, library.hook) == ("idea", str(tmp_path / "idea.so"), "")
    assert hook.passes == library.passes == ()


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ('name = "x"', "neither a library nor a hook"),
        ('name = "x"\nlibrary = "a.so"\nloads = ["LD_PRELOAD"]', "LD_PRELOAD"),
        ('name = "x"\nlibrary = "a.so"\ncolour = 1', "colour"),
        ('library = "a.so"', "name"),
        ("name = ", "Invalid"),
    ],
)
def test_a_malformed_file_is_named_with_its_fault(tmp_path: Path, text: str, cause: str):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(HarnessError) as raised:
        find_descriptor(str(path))
    assert raised.value.thing == str(path)
    assert cause in raised.value.cause


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(HarnessError, match="idle, null") as raised:
        find_descriptor("nul")
    assert "toolchains" not in raised.value.way_out
    with pytest.raises(HarnessError, match="no such file"):
        find_descriptor("nothing.py")


def test_what_cannot_be_laid_over_a_role_says_why(upstream: Toolchain, three: Toolchain):
    with pytest.raises(HarnessError, match="loaded there already"):
        overlaid(three, [find_descriptor("null")])
    with pytest.raises(HarnessError, match="triton-utlx is not installed there"):
        overlaid(upstream, [find_descriptor("utlx")])


def asking(folder: Path, name: str, text: str) -> str:
    path = folder / f"{name}.toml"
    path.write_text(f'name = "{name}"\nhook = "{ROOT / "plugins/hooks/idle.py"}"\n{text}')
    return str(path)


def test_both_sides_get_what_a_plugin_asks_for(upstream: Toolchain, tmp_path: Path):
    text = '[controls.env]\nMINE = "1"\n[controls.options]\nnum_stages = 2\n'
    one = overlaid(upstream, [find_descriptor(asking(tmp_path, "one", text))])
    sides = {each.role: each for each in (upstream, one)}
    found = controls("controlled", sides)
    assert found.env["MINE"] == found.described["MINE"] == "1"
    assert found.options["num_stages"] == 2
    assert found.described["option num_stages"] == "2"
    shipped = controls("shipped", sides)
    assert "MINE" not in shipped.env
    assert "num_stages" not in shipped.options
    # What is said of the assembler does not depend on the plugins, so nothing compiles again.
    plain = controls("controlled", {"upstream": upstream}).described
    assert plain.items() <= found.described.items()


def test_plugins_that_ask_for_different_things_are_named(upstream: Toolchain, tmp_path: Path):
    texts = [f'[controls.env]\nMINE = "{value}"\n' for value in (1, 2)]
    files = [asking(tmp_path, name, text) for name, text in zip("ab", texts, strict=True)]
    both = overlaid(upstream, [find_descriptor(file) for file in files])
    with pytest.raises(HarnessError, match="plugin a asks for 1, plugin b for 2"):
        controls("controlled", {both.role: both})
