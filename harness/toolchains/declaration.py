"""The toolchains that are declared in ``plugins/``: roles, pins, plugin descriptors, lanes."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import TypeVar

import msgspec

from harness.errors import HarnessError
from harness.record import Record

PLUGINS = Path(__file__).resolve().parents[2] / "plugins"
_PIN = re.compile(r"([A-Za-z0-9._-]+)==")
_T = TypeVar("_T")


class Descriptor(Record, frozen=True):
    """A plugin: how it is installed and loaded, and what its library must register.

    ``library`` is relative to site-packages; ``loads`` is the variable through which Triton
    finds it; ``module`` the name under which kernels import what it brings.
    ``launch_options`` are compile options that the plugin turns into others when a kernel is
    launched (the first element of the value, unless it is 1); see ``harness.compile``.
    """

    name: str
    distribution: str
    library: str
    loads: str
    module: str
    api_version: int
    built_for_triton: str
    passes: tuple[str, ...]
    ops: tuple[str, ...]
    dialects: tuple[str, ...]
    launch_options: dict[str, str] = msgspec.field(default_factory=dict)


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
    """Controls of one lane, the same for every side; see ``plugins/toolchains.toml``."""

    fixed_addresses: bool = False
    options: dict[str, bool | int | float | str] = msgspec.field(default_factory=dict)
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
    file = _decode(folder / "toolchains.toml", _File)
    roles = {
        name: Role(
            name=name,
            about=table.about,
            compiler=table.compiler,
            pins=_pins(folder / table.lock, table.compiler),
            lock=f"{folder.name}/{table.lock}",
            builtin_tlx=table.builtin_tlx,
            plugins=tuple(_decode(folder / f"{p}.toml", Descriptor) for p in table.plugins),
            python=table.python,
        )
        for name, table in file.roles.items()
    }
    return Declaration(roles, file.environment, file.controls)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise HarnessError(
            str(path), error.strerror or str(error), "restore it from the project"
        ) from error


def _decode(path: Path, kind: type[_T]) -> _T:
    try:
        return msgspec.toml.decode(_read(path), type=kind)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise HarnessError(str(path), str(error), "correct the file") from error


def _pins(path: Path, compiler: str) -> dict[str, str]:
    """The requirements of a lock by distribution; each must have a version and a hash."""
    text = re.sub(r"\s*\\\n\s*", " ", _read(path).decode())
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
