"""What to use for a role: its pins, or what the user gives in their place.

An override is a virtual environment, a Python interpreter, a wheel, a folder that holds a
``triton`` package or a plugin (laid over an environment with the other pins), or pinned
requirements such as ``fbtriton==3.7.3``; several wheels and requirements are separated by
commas.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from harness.errors import HarnessError
from harness.toolchains.declaration import Declaration, Descriptor, Role

_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)==[A-Za-z0-9.+!_-]+\Z")
_FORMS = (
    "give a virtual environment, a Python interpreter, a wheel, a folder with a triton package"
    " or a pinned requirement (fbtriton==3.7.3)"
)
TRITON = "triton/__init__.py"


class Plan(msgspec.Struct, frozen=True):
    """What a toolchain is made of.

    Either ``interpreter`` (an environment that exists), or ``requirements`` for uv, all with
    hashes if ``hashed``, and ``overlay``, a folder added to the environment. ``origin`` says
    in words where it comes from; ``descriptors`` are the plugins it must load.
    """

    origin: str
    descriptors: tuple[Descriptor, ...]
    interpreter: Path | None = None
    requirements: tuple[str, ...] = ()
    hashed: bool = True
    overlay: Path | None = None

    def digest(self, python: str) -> str:
        """A short name for the environment that this plan makes with that Python."""
        parts = [python, *self.requirements, str(self.overlay)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def split_override(text: str, declaration: Declaration) -> tuple[str, str]:
    """``"fork=/path"`` as ``("fork", "/path")``; raises HarnessError if it is not one."""
    role, equals, value = text.partition("=")
    if not equals or not value:
        raise HarnessError(f"override {text!r}", "not of the form ROLE=WHAT", _FORMS)
    return declaration.role(role).name, value


def planned(role: Role, override: str | None) -> Plan:
    """What to make for ``role``; raises HarnessError if ``override`` cannot be used."""
    if override is None:
        return Plan(f"pins of {role.lock}", role.plugins, requirements=tuple(role.pins.values()))
    path = Path(override).expanduser().absolute()
    thing = f"override {role.name}={override}"
    if path.is_dir():
        return _folder(role, path, thing)
    if path.is_file() and path.suffix != ".whl":
        if not os.access(path, os.X_OK):
            raise HarnessError(thing, "the file is neither an interpreter nor a wheel", _FORMS)
        return Plan(str(path), role.plugins, interpreter=path)
    return _parts(role, override, thing)


def _folder(role: Role, path: Path, thing: str) -> Plan:
    interpreter = path / "bin" / "python"
    if interpreter.exists():
        return Plan(str(path), role.plugins, interpreter=interpreter)
    brought = _brought(role, lambda file: (path / file).is_file())
    if not brought:
        raise HarnessError(
            thing, "the folder holds no bin/python, no triton package and no plugin", _FORMS
        )
    rest = tuple(pin for name, pin in role.pins.items() if name not in brought)
    return Plan(str(path), role.plugins, requirements=rest, overlay=path)


def _parts(role: Role, override: str, thing: str) -> Plan:
    pins = dict(role.pins)
    descriptors = role.plugins
    hashed = True
    for part in (part.strip() for part in override.split(",")):
        path = Path(part).expanduser().absolute()
        if path.suffix == ".whl":
            names, requirement = _wheel(role, path, thing)
        else:
            names, requirement = _requirement(role, part, thing)
            if pins[names[0]].split()[0] == requirement:
                continue
            hashed = False
            descriptors = tuple(
                _without_promises(d) if d.distribution in names else d for d in descriptors
            )
        for name in names:
            pins.pop(name)
        pins[names[0]] = requirement
    return Plan(override, descriptors, requirements=tuple(pins.values()), hashed=hashed)


def _without_promises(descriptor: Descriptor) -> Descriptor:
    """For another release than the pinned one, which registers what it will."""
    return msgspec.structs.replace(
        descriptor, passes=(), ops=(), dialects=(), built_for_triton=""
    )


def _wheel(role: Role, path: Path, thing: str) -> tuple[list[str], str]:
    """The pins that a wheel replaces, and the requirement for it."""
    try:
        with zipfile.ZipFile(path) as wheel:
            files = set(wheel.namelist())
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except (OSError, zipfile.BadZipFile) as error:
        cause = getattr(error, "strerror", None) or str(error)
        raise HarnessError(thing, f"cannot read the wheel: {cause}", _FORMS) from error
    names = _brought(role, files.__contains__)
    if not names:
        raise HarnessError(
            thing, "the wheel brings neither a triton package nor a plugin of this role", _FORMS
        )
    distribution = path.name.partition("-")[0]
    return names, f"{distribution} @ {path.as_uri()} --hash=sha256:{digest}"


def _requirement(role: Role, part: str, thing: str) -> tuple[list[str], str]:
    """The pin that a requirement replaces, and the requirement itself."""
    match = _REQUIREMENT.match(part)
    if match is None:
        raise HarnessError(thing, f"{part!r} is no such path and no pinned requirement", _FORMS)
    name = match[1].lower().replace("_", "-")
    plugins = [descriptor.distribution for descriptor in role.plugins]
    return [name if name in plugins else role.compiler], part


def _brought(role: Role, has: Callable[[str], bool]) -> list[str]:
    """The role's distributions that something with these files replaces."""
    found = [role.compiler] if has(TRITON) else []
    return found + [d.distribution for d in role.plugins if has(d.library)]
