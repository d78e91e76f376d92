"""The toolchains that are declared in ``plugins/``: roles, pins, plugin descriptors, lanes."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import TypeVar

import msgspec

from harness.errors import HarnessError
from harness.record import Record
from harness.toolchains.descriptor import (
    PLUGINS,
    Descriptor,
    Value,
    decode,
    read,
    read_descriptor,
)

_PIN = re.compile(r"([A-Za-z0-9._-]+)==")
_T = TypeVar("_T")


class Role(Record, frozen=True):
    """A declared toolchain.

    ``pins`` maps each distribution to its requirement with hashes; ``compiler`` is the one
    that brings the ``triton`` package, with TLX compiled in or not (``builtin_tlx``).
    ``python`` is ``""`` for the harness's own version.
    """

    name: str
    about: str
    compiler: str
    pins: dict[str, str]
    lock: str
    builtin_tlx: bool = False
    plugins: tuple[Descriptor, ...] = ()
    python: str = ""


class Lane(Record, frozen=True):
    """Controls of one lane, the same for every side; see ``plugins/toolchains.toml``.

    ``of_plugins``: those that the descriptors of the plugins taking part name belong to it too.
    """

    fixed_addresses: bool = False
    of_plugins: bool = False
    options: dict[str, Value] = msgspec.field(default_factory=dict)
    env: dict[str, str] = msgspec.field(default_factory=dict)
    tools: dict[str, str] = msgspec.field(default_factory=dict)
    tools_of: tuple[str, ...] = ()


class Environment(Record, frozen=True):
    """What a toolchain's processes get: variables to ``keep`` and to ``set``."""

    keep: tuple[str, ...]
    set: dict[str, str]


class Declaration(Record, frozen=True):
    """Everything that a ``plugins`` folder declares."""

    roles: dict[str, Role]
    environment: Environment
    lanes: dict[str, Lane]

    def role(self, name: str) -> Role:
        """The role of this name; raises HarnessError if there is none."""
        return self._find(self.roles, name, "role")

    def lane(self, name: str) -> Lane:
        """The lane of this name; raises HarnessError if there is none."""
        return self._find(self.lanes, name, "lane")

    @staticmethod
    def _find(among: dict[str, _T], name: str, what: str) -> _T:
        if name not in among:
            raise HarnessError(
                f"{what} {name!r}", f"there is no such {what}", f"use one of {', '.join(among)}"
            )
        return among[name]


class _RoleTable(Record, frozen=True):
    about: str
    compiler: str
    lock: str
    builtin_tlx: bool = False
    plugins: tuple[str, ...] = ()
    python: str = ""


class _File(Record, frozen=True):
    roles: dict[str, _RoleTable]
    environment: Environment
    controls: dict[str, Lane]


@functools.cache
def declared(folder: Path = PLUGINS) -> Declaration:
    """Read ``toolchains.toml``, the locks and the descriptors of a ``plugins`` folder.

    Raises HarnessError naming the file that is missing or malformed.
    """
    file = decode(folder / "toolchains.toml", _File)
    roles = {
        name: Role(
            name=name,
            about=table.about,
            compiler=table.compiler,
            pins=_pins(folder / table.lock, table.compiler),
            lock=f"{folder.name}/{table.lock}",
            builtin_tlx=table.builtin_tlx,
            plugins=tuple(_installed(folder / f"{p}.toml") for p in table.plugins),
            python=table.python,
        )
        for name, table in file.roles.items()
    }
    return Declaration(roles, file.environment, file.controls)


def _installed(path: Path) -> Descriptor:
    """The descriptor of a plugin that a role's lock installs."""
    descriptor = read_descriptor(path)
    if not descriptor.distribution:
        raise HarnessError(
            str(path),
            "is a plugin of a role, and has no distribution that a lock could pin",
            "lay it over a role on the command line instead: --plugin",
        )
    return descriptor


def _pins(path: Path, compiler: str) -> dict[str, str]:
    """The requirements of a lock by distribution; each must have a version and a hash."""
    text = re.sub(r"\s*\\\n\s*", " ", read(path).decode())
    pins = {}
    for line in text.splitlines():
        requirement = line.partition("#")[0].strip()
        if not requirement:
            continue
        match = _PIN.match(requirement)
        if match is None or " --hash=sha256:" not in requirement:
            raise HarnessError(
                f"{path}: {requirement.split()[0]}",
                "not pinned by version and sha256",
                "make the lock again with `uv pip compile --generate-hashes`",
            )
        pins[match[1]] = requirement
    if compiler not in pins:
        raise HarnessError(str(path), f"does not pin {compiler}", "correct the lock")
    return pins
