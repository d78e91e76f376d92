"""Pre-flight: what would go wrong while a toolchain loads its plugins, said before it does.

Triton answers a plugin that does not fit by ending the process in the middle of an import, or by
SIGSEGV. Everything here is found without importing it: from the files, and in a process that
loads libtriton as a mere library.
"""

from __future__ import annotations

import ast
import json
import mmap
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from harness.errors import HarnessError
from harness.toolchains.descriptor import EXTEND, VARIABLE, Descriptor
from harness.toolchains.elf import ENTRY, exports, missing_symbols
from harness.toolchains.environment import Toolchain
from harness.toolchains.finding import Finding
from harness.toolchains.overlay import library_path
from harness.toolchains.proof import ROOT, status

PROBE_TIMEOUT = 60.0  # seconds
API_VERSION = 2
_PROBE = """
import sys
sys.path.insert(0, sys.argv[1])
from harness.worker.plugins import probe
sys.path.pop(0)
probe(sys.argv[2], sys.argv[3:])
"""


def preflight(toolchain: Toolchain) -> list[Finding]:
    """What is wrong with how the toolchain would load its plugins; takes well under a second.

    Raises HarnessError if its interpreter cannot be started.
    """
    ways = _ways(toolchain)
    found: list[Finding] = []
    safe: dict[Path, Descriptor] = {}
    for descriptor in toolchain.descriptors:
        of_files = [*_hook(toolchain, descriptor), *_library(toolchain, descriptor, ways)]
        found += of_files
        path = library_path(toolchain, descriptor)
        if descriptor.library and path.is_file() and not any(f.problem for f in of_files):
            safe[path] = descriptor
    variable, said = _probe(toolchain, list(safe))
    found += _variable(toolchain, variable, ways)
    for path, descriptor in safe.items():
        if str(path) in said:  # not after one that ended the process
            found += _said(toolchain, descriptor, path, said[str(path)])
    return found


def inherited() -> list[Finding]:
    """What becomes of a variable of the caller's own: nothing, which is worth saying."""
    value = os.environ.get(VARIABLE)
    if value is None:
        return []
    cause = f"your {value!r} is not passed on: toolchains see only what is declared for them"
    way_out = "name the plugin with --plugin if it was meant"
    return [Finding("variable", VARIABLE, cause, way_out, problem=False)]


def _libtriton(toolchain: Toolchain) -> Path:
    return toolchain.package / "_C" / "libtriton.so"


def _ways(toolchain: Toolchain) -> set[str]:
    """The ways in which its Triton loads plugins, by the names in its library; not looked for
    where nothing is to be loaded."""
    if VARIABLE not in toolchain.env and not any(d.library for d in toolchain.descriptors):
        return set()
    with (
        _libtriton(toolchain).open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        if data.find(ENTRY.encode()) < 0:
            return set()
        return {EXTEND if data.find(b"extend_dialects_with") >= 0 else VARIABLE}


def _hook(toolchain: Toolchain, descriptor: Descriptor) -> Iterator[Finding]:
    if not descriptor.hook:
        return
    thing = _thing(toolchain, descriptor)
    try:
        body = ast.parse(Path(descriptor.hook).read_text(), descriptor.hook).body
    except (OSError, SyntaxError, ValueError) as error:
        yield Finding("hook", thing, f"its stage hook cannot be read: {error}", "correct the file")
        return
    names = {node.name for node in body if isinstance(node, ast.FunctionDef)}
    names |= {
        alias.asname or alias.name
        for n in body
        if isinstance(n, ast.ImportFrom)
        for alias in n.names
    }
    names |= {
        target.id
        for node in body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    if "inspect_stages" not in names:
        yield Finding(
            "hook",
            thing,
            f"{Path(descriptor.hook).name} defines no inspect_stages",
            "define inspect_stages(backend, stages, options, language, capability) in it",
        )


def _library(toolchain: Toolchain, descriptor: Descriptor, ways: set[str]) -> Iterator[Finding]:
    if not descriptor.library:
        return
    thing, path = _thing(toolchain, descriptor), library_path(toolchain, descriptor)
    if not ways:
        yield Finding(
            "loading",
            thing,
            "this Triton loads no plugins: it ignores the variable, and has no function for it",
            "use a toolchain with upstream Triton, 3.7 or later",
        )
        return
    if not path.is_file():
        if not descriptor.distribution:  # whether a distribution is there, the proof says
            yield Finding(
                "library", thing, f"there is no {path}", _build(descriptor, toolchain.release)
            )
        return
    try:
        if not exports(path, ENTRY):
            yield Finding(
                "library",
                thing,
                f"{path.name} does not define {ENTRY}: it is no plugin",
                "correct the descriptor's library",
            )
            return
        missing = missing_symbols(path, _libtriton(toolchain))
    except HarnessError as error:
        yield Finding("library", thing, f"{error.thing} {error.cause}", error.way_out)
        return
    for names, when, problem in (
        (missing.at_once, "loading it fails", True),
        (missing.when_called, "a compilation that comes to one of them ends its process", False),
    ):
        if names:
            yield Finding(
                "symbols",
                thing,
                f"{path.name} needs {len(names)} symbols that this Triton ({toolchain.release})"
                f" does not export, such as {names[0]}: {when}",
                _other_build(descriptor, toolchain),
                problem,
            )
    if ways.isdisjoint(descriptor.loads):
        yield Finding(
            "loading",
            thing,
            f"Triton {toolchain.release} loads plugins by {' or '.join(ways)} only, and the"
            f" descriptor names {' and '.join(descriptor.loads)}",
            f'add "{min(ways)}" to the descriptor\'s loads, or use another Triton',
        )


def _variable(toolchain: Toolchain, value: str | None, ways: set[str]) -> Iterator[Finding]:
    """What is wrong with the variable as the toolchain's interpreter has it once it has started:
    a ``.pth`` file may have changed it."""
    thing = f"{VARIABLE} of {toolchain.role}"
    if value is None or VARIABLE not in ways:
        return
    paths = value.split(os.pathsep)
    if not any(paths):
        yield Finding(
            "variable",
            thing,
            "is set and empty, with which Triton ends the process while it is imported",
            "find what sets it (a .pth file, sitecustomize, a control) and have it unset instead",
        )
    paths = [path for path in paths if path]
    for path in paths:
        if not Path(path).is_file():
            yield Finding(
                "variable",
                thing,
                f"names {path}, which does not exist: Triton ends the process",
                "take it out, or build it",
            )
    present = [path for path in paths if Path(path).is_file()]
    for number, path in enumerate(present):
        for other in present[:number]:
            if Path(path).samefile(other) or Path(path).read_bytes() == Path(other).read_bytes():
                both = "twice" if path == other else f"and its copy {other}"
                yield Finding(
                    "variable",
                    thing,
                    f"names {path} {both}: a dialect that is registered twice ends the process",
                    "leave one: a plugin that its distribution announces needs no --plugin",
                )
                break


def _probe(
    toolchain: Toolchain, libraries: list[Path]
) -> tuple[str | None, dict[str, dict[str, str | int]]]:
    """The variable in the toolchain's interpreter, and what each library says of itself."""
    process = subprocess.run(
        [toolchain.interpreter, "-I", "-B", "-c", _PROBE, ROOT, _libtriton(toolchain), *libraries],
        capture_output=True,
        text=True,
        errors="replace",
        env=toolchain.env,
        timeout=PROBE_TIMEOUT,
        check=False,
    )
    lines = [json.loads(line) for line in process.stdout.splitlines()]
    if not lines:
        raise HarnessError(
            f"toolchain {toolchain.role} ({toolchain.interpreter})",
            f"its interpreter does not start: {process.stderr.strip()[-300:]}",
            "run `tlx-equiv toolchains verify`",
        )
    said = {line["library"]: line for line in lines[1:]}
    for library in libraries[len(said) :]:  # the first of them ended the process
        words = f"the process that loaded it ended with {status(process.returncode)}"
        said[str(library)] = {"error": words}
        break
    return lines[0]["variable"], said


def _said(
    toolchain: Toolchain, descriptor: Descriptor, path: Path, said: dict[str, str | int]
) -> Iterator[Finding]:
    """What is wrong with what a library says of itself; it says nothing if loading it fails."""
    thing = _thing(toolchain, descriptor)
    if "api_version" not in said:
        cause = said.get("error", "the process that loaded it died")
        yield Finding("library", thing, f"{path.name} cannot be loaded: {cause}", "build it again")
    elif said["api_version"] != API_VERSION:
        yield Finding(
            "api",
            thing,
            f"{path.name} has plugin API version {said['api_version']}, and Triton wants"
            f" {API_VERSION}: it ends the process",
            _other_build(descriptor, toolchain),
        )
    elif str(said["built_for_triton"]).partition("+")[0] != toolchain.release:
        yield Finding(
            "version",
            thing,
            f"{path.name} is built for Triton {said['built_for_triton']}, and this is"
            f" {toolchain.release}: Triton ends the process",
            _other_build(descriptor, toolchain, str(said["built_for_triton"])),
        )


def _thing(toolchain: Toolchain, descriptor: Descriptor) -> str:
    return f"plugin {descriptor.name} on {toolchain.role}"


def _build(descriptor: Descriptor, release: str) -> str:
    if "/build/" in descriptor.library:
        return f"build it with `make plugins`, which has to know of Triton {release}"
    return "build it, or correct the descriptor's library"


def _other_build(descriptor: Descriptor, toolchain: Toolchain, built_for: str = "") -> str:
    role = toolchain.role.partition("+")[0]
    built = f"a build of the plugin for Triton {toolchain.release}"
    if descriptor.distribution:
        built += f" (--toolchain {role}={descriptor.distribution}==VERSION)"
    version = (built_for or descriptor.built_for_triton).partition("+")[0] or "VERSION"
    return (
        f"use {built}, or the Triton that it was built for (--toolchain {role}=triton=={version})"
    )
