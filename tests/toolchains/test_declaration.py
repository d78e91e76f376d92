from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from harness.errors import HarnessError
from harness.toolchains import Toolchain, declared, identify
from harness.toolchains.declaration import PLUGINS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(PLUGINS, tmp_path / "plugins"))


def test_roles_are_the_three_of_the_design_and_pinned_by_version_and_hash() -> None:
    roles = declared().roles
    pinned = {name: {pin.split()[0] for pin in role.pins.values()} for name, role in roles.items()}
    assert pinned == {
        "fork": {"fbtriton==3.7.4"},
        "upstream": {"triton==3.8.0"},
        "plugin": {"triton==3.8.0", "triton-utlx==3.8.0.post16"},
    }
    assert roles["plugin"].pins["triton"] == roles["upstream"].pins["triton"]


def test_descriptor_promises_exactly_what_the_pinned_library_registers(plugin: Toolchain) -> None:
    (descriptor,) = plugin.descriptors
    (proof,) = identify(plugin).plugins
    assert descriptor.passes == proof.passes
    assert descriptor.ops == proof.ops
    assert descriptor.dialects == proof.dialects
    assert proof.missing == ()


@pytest.mark.parametrize(
    ("file", "old", "new", "thing", "cause"),
    [
        ("locks/fork.txt", "fbtriton==3.7.4", "fbtriton>=3.7.4", "fork.txt: fbtriton>=", "pinned"),
        ("locks/fork.txt", "sha256:", "md5:", "fork.txt: fbtriton==3.7.4", "sha256"),
        ("locks/fork.txt", "fbtriton==", "triton==", "fork.txt", "does not pin fbtriton"),
        (
            "toolchains.toml",
            "[roles.fork]",
            "[roles.fork]\ncolour = 1",
            "toolchains.toml",
            "colour",
        ),
        ("toolchains.toml", "[roles.fork]", "[roles.fork", "toolchains.toml", "line"),
        ("toolchains.toml", '["utlx"]', '["nosuch"]', "nosuch.toml", "No such file"),
        ("toolchains.toml", '["utlx"]', '["idle"]', "idle.toml", "no distribution"),
        ("utlx.toml", 'name = "utlx"', "", "utlx.toml", "name"),
    ],
)
def test_malformed_declaration_names_the_file_and_the_cause(
    folder: Path, file: str, old: str, new: str, thing: str, cause: str
) -> None:
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new))
    with pytest.raises(HarnessError) as raised:
        declared(folder)
    assert thing in raised.value.thing
    assert cause in raised.value.cause


def test_unknown_role_names_the_known_ones() -> None:
    with pytest.raises(HarnessError, match="fork, plugin, upstream"):
        declared().role("trunk")
