"""What to use for a role: its pins, or what the user gives in their place.

An override is a virtual environment or a Python interpreter, used as it is; or parts that
replace pins, separated by commas: wheels, folders that hold a ``triton`` package or a plugin,
and pinned requirements such as ``fbtriton==3.7.3``.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from harness.errors import HarnessError
from harness.toolchains.declaration import Role
from harness.toolchains.descriptor import Descriptor

TRITON = "triton/__init__.py"
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)==[A-Za-z0-9.+!_-]+\Z")
_FORMS = (
    "give a virtual environment, a Python interpreter, a wheel, a folder with a triton package"
    " or a pinned requirement (fbtriton==3.7.3)"
)


class Plan(msgspec.Struct, frozen=True):
    """What a toolchain is made of.

    Either ``interpreter`` (an environment that exists), or ``requirements`` for uv, all with
    hashes if ``hashed``, and ``overlays``, folders added to the environment. ``origin`` says
    in words where it comes from; ``descriptors`` are the plugins it must load.
    """

    origin: str
    descriptors: tuple[Descriptor, ...]
    interpreter: Path | None = None
    requirements: tuple[str, ...] = ()
    hashed: bool = True
    overlays: tuple[Path, ...] = ()

    def digest(self, python: str) -> str:
        """A short name for the environment that this plan makes with that Python."""
        parts = [python, self.requirements, [str(path) for path in self.overlays]]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def planned(role: Role, override: str | None) -> Plan:
    """What to make for ``role``; raises HarnessError if ``override`` cannot be used."""
    if override is None:
        return Plan(f"pins of {role.lock}", role.plugins, requirements=tuple(role.pins.values()))
    path = Path(override).expanduser().absolute()
    if path.is_dir() and (path / "bin" / "python").exists():
        return Plan(str(path), role.plugins, interpreter=path / "bin" / "python")
    if path.is_file() and path.suffix != ".whl":
        if not os.access(path, os.X_OK):
            raise HarnessError(
                f"override {role.name}={override}",
                "the file is neither an interpreter nor a wheel",
                _FORMS,
            )
        return Plan(str(path), role.plugins, interpreter=path)
    return _assembled(role, override)


def _assembled(role: Role, override: str) -> Plan:
    """The role's pins, less what the parts of ``override`` replace, and those parts."""
    thing = f"override {role.name}={override}"
    pins = dict(role.pins)
    descriptors = role.plugins
    hashed = True
    added: list[str] = []
    overlays: list[Path] = []
    for part in (part.strip() for part in override.split(",")):
        path = Path(part).expanduser().absolute()
        if part and path.is_dir():
            replaced = _brought(role, functools.partial(_holds, path), thing)
            overlays.append(path)
        elif path.suffix == ".whl":
            replaced, requirement = _wheel(role, path, thing)
            added.append(requirement)
        else:
            replaced = [_replaced_by(role, part, thing)]
            if part == role.pins[replaced[0]].split()[0]:
                continue
            added.append(part)
            hashed = False
            descriptors = tuple(
                _without_promises(d) if d.distribution in replaced else d for d in descriptors
            )
        for name in replaced:
            pins.pop(name, None)
    return Plan(
        origin=override,
        descriptors=descriptors,
        requirements=(*pins.values(), *added),
        hashed=hashed,
        overlays=tuple(overlays),
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
    replaced = _brought(role, files.__contains__, thing)
    distribution = path.name.partition("-")[0]
    return replaced, f"{distribution} @ {path.as_uri()} --hash=sha256:{digest}"


def _holds(folder: Path, file: str) -> bool:
    return (folder / file).is_file()


def _brought(role: Role, has: Callable[[str], bool], thing: str) -> list[str]:
    """The role's distributions that something with these files replaces."""
    found = [role.compiler] if has(TRITON) else []
    found += [d.distribution for d in role.plugins if has(d.library)]
    if not found:
        raise HarnessError(thing, "holds no triton package and no plugin of this role", _FORMS)
    return found


def _replaced_by(role: Role, requirement: str, thing: str) -> str:
    """The distribution that a requirement replaces: a plugin of that name, or the compiler."""
    match = _REQUIREMENT.match(requirement)
    if match is None:
        cause = f"{requirement!r} is no path that exists and no pinned requirement"
        raise HarnessError(thing, cause, _FORMS)
    name = match[1].lower().replace("_", "-")
    return name if name in [d.distribution for d in role.plugins] else role.compiler


def _without_promises(descriptor: Descriptor) -> Descriptor:
    """For another release than the pinned one, which registers what it will."""
    return msgspec.structs.replace(descriptor, passes=(), ops=(), dialects=(), built_for_triton="")
