"""Controls: settings that a lane gives to every side alike."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Mapping
from typing import TypeVar

import msgspec

from harness.errors import HarnessError
from harness.toolchains.declaration import Declaration, declared
from harness.toolchains.environment import Toolchain
from harness.toolchains.tools import tools
from harness.worker.hashes import Hashes
from harness.worker.identity import HASHES_VARIABLE

_V = TypeVar("_V")
_RELEASE = re.compile(r"release [^\n]*")


class Controls(msgspec.Struct, frozen=True):
    """What a lane sets for both sides: environment variables and compile options.

    ``fixed_addresses``: the tools that a compiler starts (assemblers, linkers) run without
    address randomisation. ``described`` says the same for readers: no machine paths, tools by
    version and sha256.
    """

    env: dict[str, str] = msgspec.field(default_factory=dict)
    options: dict[str, bool | int | float | str] = msgspec.field(default_factory=dict)
    described: dict[str, str] = msgspec.field(default_factory=dict)
    fixed_addresses: bool = False


def controls(
    lane: str, toolchains: Mapping[str, Toolchain], declaration: Declaration | None = None
) -> Controls:
    """The controls of ``lane`` for a run with these toolchains (by role, at least one)."""
    declared_lane = (declaration or declared()).lane(lane)
    env, options = dict(declared_lane.env), dict(declared_lane.options)
    if declared_lane.of_plugins:
        descriptors = [d for toolchain in toolchains.values() for d in toolchain.descriptors]
        _merge(env, [(d.name, d.controls.env) for d in descriptors])
        _merge(options, [(d.name, d.controls.options) for d in descriptors])
    described = {name: str(value) for name, value in env.items()}
    described |= {f"option {name}": str(value) for name, value in options.items()}
    if declared_lane.fixed_addresses:
        described["address randomisation"] = "off for the assemblers and linkers of both sides"
    if declared_lane.tools:
        plain = {_declared_role(each): each for each in reversed(list(toolchains.values()))}
        present = [plain[role] for role in declared_lane.tools_of if role in plain]
        source = present[0] if present else next(iter(toolchains.values()))
        hashes = Hashes(source.env[HASHES_VARIABLE])
        for variable, tool in declared_lane.tools.items():
            path = getattr(tools(source), tool.replace("-", "_"))
            env[variable] = str(path)
            version = _version(str(path))
            sha = hashes.sha256(str(path))
            described[variable] = f"{tool} of {_declared_role(source)}, {version}, sha256 {sha}"
        hashes.save()
    return Controls(env, options, described, declared_lane.fixed_addresses)


def _declared_role(toolchain: Toolchain) -> str:
    """The role of a toolchain without the plugins that were laid over it."""
    return toolchain.role.partition("+")[0]


def _merge(into: dict[str, _V], asked: Iterable[tuple[str, Mapping[str, _V]]]) -> None:
    """Add what each plugin asks for; raises HarnessError if two want different values."""
    owners: dict[str, str] = {}
    for plugin, values in asked:
        for name, value in values.items():
            if name in owners and into[name] != value:
                raise HarnessError(
                    f"control {name}",
                    f"plugin {owners[name]} asks for {into[name]}, plugin {plugin} for {value}",
                    "use one of them at a time, or correct their descriptors",
                )
            owners[name] = plugin
            into[name] = value


def _version(tool: str) -> str:
    output = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True)
    match = _RELEASE.search(output.stdout)
    return match[0] if match else "unknown version"
