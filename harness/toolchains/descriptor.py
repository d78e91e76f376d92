"""Plugin descriptors: how a plugin loads, what it must register, what belongs to it.

A descriptor is a TOML file in ``plugins/``, given by its name, or any file given by its path. A
library (``.so``) or a Python file with a stage hook (``.py``) may be given in its place: it is a
plugin that promises nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from harness.errors import HarnessError
from harness.record import Record

PLUGINS = Path(__file__).resolve().parents[2] / "plugins"
VARIABLE = "TRITON_PLUGIN_PATHS"
EXTEND = "extend_with"
Way = Literal["TRITON_PLUGIN_PATHS", "extend_with"]
Value = bool | int | float | str
_T = TypeVar("_T")
_FOR_WORKERS = (
    *("name", "distribution", "library", "loads", "hook", "module"),
    *("passes", "ops", "dialects"),
)


class PluginControls(Record, frozen=True):
    """What both sides get, in lanes with controls, while the plugin takes part."""

    env: dict[str, str] = msgspec.field(default_factory=dict)
    options: dict[str, Value] = msgspec.field(default_factory=dict)


class Descriptor(Record, frozen=True):
    """A plugin: a library, a stage hook, or both.

    ``library`` is relative to site-packages or, if it begins with a dot, to the descriptor's
    file; ``{triton}`` in it stands for the version of the Triton that is to load it. ``loads``
    are the ways in which it may reach Triton: through the variable that Triton up to 3.8 reads
    while it is imported, or through the functions that Triton 3.9 has instead. A
    ``distribution`` installs the library and announces it to Triton itself (a ``.pth`` file sets
    the variable); without one the harness does. ``hook`` is a Python file, relative to the
    descriptor's, whose ``inspect_stages`` joins Triton's stage hook. ``module`` is the name
    under which kernels import what the plugin brings.

    ``passes``, ``ops`` and ``dialects`` are what the library must register, by its own names.
    ``launch_options`` are compile options that the plugin turns into others when a kernel is
    launched (the first element of the value, unless it is 1); see ``harness.compile``.
    ``rules`` names the rules of ``harness.compare`` that exist for its sake, ``controls`` what
    both sides get while it takes part.
    """

    name: str
    about: str = ""
    distribution: str = ""
    library: str = ""
    loads: tuple[Way, ...] = ("TRITON_PLUGIN_PATHS", "extend_with")
    hook: str = ""
    module: str = ""
    api_version: int = 2
    built_for_triton: str = ""
    passes: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()
    dialects: tuple[str, ...] = ()
    launch_options: dict[str, str] = msgspec.field(default_factory=dict)
    rules: tuple[str, ...] = ()
    controls: PluginControls = PluginControls()

    def plain(self) -> dict[str, str | tuple[str, ...]]:
        """What a toolchain's own processes need of it (see ``harness.worker``)."""
        return {name: getattr(self, name) for name in _FOR_WORKERS}


def find_descriptor(given: str, folder: Path = PLUGINS) -> Descriptor:
    """The plugin of that name in ``folder``, or the one that a file describes or is.

    Raises HarnessError if there is none, or its descriptor is malformed.
    """
    path = Path(given).expanduser()
    if path.suffix in (".toml", ".py", ".so"):
        path = path.absolute()
        if not path.is_file():
            raise HarnessError(f"plugin {given}", "no such file", "correct the path")
        if path.suffix == ".toml":
            return read_descriptor(path)
        part = "hook" if path.suffix == ".py" else "library"
        return msgspec.convert({"name": path.stem, part: str(path)}, Descriptor)
    if not (folder / f"{given}.toml").is_file():
        raise HarnessError(
            f"plugin {given}",
            f"there is no {folder.name}/{given}.toml",
            f"use one of {', '.join(names(folder))}, or give a descriptor, a Python file with a"
            " stage hook, or a library",
        )
    return read_descriptor(folder / f"{given}.toml")


def known_descriptors(folder: Path = PLUGINS) -> list[Descriptor]:
    """Every plugin that ``folder`` describes."""
    return [read_descriptor(folder / f"{name}.toml") for name in names(folder)]


def names(folder: Path = PLUGINS) -> list[str]:
    """The plugins that ``folder`` describes."""
    return sorted(p.stem for p in folder.glob("*.toml") if p.name != "toolchains.toml")


def read_descriptor(path: Path) -> Descriptor:
    """The descriptor in a file, its own files' paths made absolute; raises HarnessError if it
    is missing, malformed or describes nothing that could be loaded."""
    descriptor = decode(path, Descriptor)
    if not (descriptor.library or descriptor.hook):
        raise HarnessError(
            str(path), "names neither a library nor a hook", "add `library` or `hook`"
        )
    library, hook = descriptor.library, descriptor.hook
    if library.startswith("."):
        library = str((path.parent / library).resolve())
    if hook:
        hook = str((path.parent / hook).resolve())
    return msgspec.structs.replace(descriptor, library=library, hook=hook)


def read(path: Path) -> bytes:
    """The contents of a file of the project; raises HarnessError if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise HarnessError(
            str(path), error.strerror or str(error), "restore it from the project"
        ) from error


def decode(path: Path, kind: type[_T]) -> _T:
    """A TOML file as a record; raises HarnessError naming what is wrong with it."""
    try:
        return msgspec.toml.decode(read(path), type=kind)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise HarnessError(str(path), str(error), "correct the file") from error
