"""Plugins as the running process has them: where they lie, what is mapped, what they register."""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import sys
from typing import Any

from harness.worker.hashes import Hashes

PLUGIN_API = 2
VARIABLE = "TRITON_PLUGIN_PATHS"
EXTEND = "extend_with"


class _Pass(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("version", ctypes.c_char_p),
        ("add", ctypes.c_void_p),
        ("register", ctypes.c_void_p),
    ]


class _Dialect(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("version", ctypes.c_char_p),
        ("register", ctypes.c_void_p),
    ]


class _Op(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("add", ctypes.c_void_p),
    ]


class _PluginInfo(ctypes.Structure):
    """What ``tritonGetPluginInfo`` returns, version 2 of the plugin API."""

    _fields_ = [
        ("api_version", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
        ("version", ctypes.c_char_p),
        ("passes", ctypes.POINTER(_Pass)),
        ("passes_count", ctypes.c_size_t),
        ("dialects", ctypes.POINTER(_Dialect)),
        ("dialects_count", ctypes.c_size_t),
        ("ops", ctypes.POINTER(_Op)),
        ("ops_count", ctypes.c_size_t),
        ("triton_version", ctypes.c_char_p),
    ]


def proof(
    library: str,
    path: str,
    descriptor: dict[str, Any] | None,
    before: dict[str, Any],
    libtriton: Any,
    hashes: Hashes,
) -> dict[str, Any]:
    """The fields of ``PluginProof`` for the library at ``path`` (empty: there is none)."""
    found: dict[str, Any] = {
        "plugin": "",
        "library": library,
        "sha256": hashes.sha256(path) if path else "",
        "mapped_before_import": any(
            os.path.basename(early) == os.path.basename(library) for early in before["early"]
        ),
        "hook": "",
        "hook_sha256": "",
        "mapped_after_import": bool(path) and os.path.realpath(path) in mapped(),
        "api_version": 0,
        "name": "",
        "version": "",
        "built_for_triton": "",
        "passes": [],
        "ops": [],
        "dialects": [],
    }
    found["way"] = _way(path, libtriton) if found["mapped_after_import"] else ""
    if found["mapped_after_import"]:
        # Loaded by Triton, never by us: only then does asking the library prove anything.
        found |= plugin_info(path)
    ops = {name: _bound(libtriton.ir.builder, name, "create_") for name in found["ops"]}
    # Triton 3.7 binds ops so that their results are lost; a binding's first line is its type.
    found["ops_without_result"] = [
        name
        for name, op in ops.items()
        if op and "-> None" in (op.__doc__ or "").partition("\n")[0]
    ]
    if descriptor is not None:
        # A pass or op counts once the library offers it and Triton has bound it. It may be
        # promised by either name: its own, or the one with Triton's prefix.
        owner = getattr(libtriton.passes, "plugin", None)
        passes = [name for name in found["passes"] if _bound(owner, name, "add_")]
        bound_ops = [name for name, op in ops.items() if op]
        there = {
            "passes": {*passes, *("add_" + name for name in passes)},
            "ops": {*bound_ops, *("create_" + name for name in bound_ops)},
            "dialects": set(found["dialects"]),
        }
        found["plugin"] = descriptor["name"]
        found["hook"] = descriptor["hook"]
        found["hook_sha256"] = hashes.sha256(descriptor["hook"]) if descriptor["hook"] else ""
        found["module_missing"] = _missing_module(descriptor["module"])
        found["missing"] = [
            f"{kind} {name}"
            for kind, plural in (("pass", "passes"), ("op", "ops"), ("dialect", "dialects"))
            for name in descriptor[plural]
            if name not in there[plural]
        ]
    return found


def _bound(owner: Any, name: str, prefix: str) -> Any:
    """What Triton binds ``name`` to: under that name, or with a prefix from 3.9 on."""
    return getattr(owner, name, None) or getattr(owner, prefix + name, None)


def _way(path: str, libtriton: Any) -> str:
    """How a library that is mapped came to be."""
    if hasattr(getattr(libtriton.passes, "plugin", None), EXTEND):
        return EXTEND
    paths = os.environ.get(VARIABLE, "").split(os.pathsep)
    if os.path.realpath(path) not in map(os.path.realpath, paths):
        return "neither Triton's variable nor its functions"
    return VARIABLE


def _missing_module(name: str) -> bool:
    """Whether kernels could not import ``name``."""
    try:
        return bool(name) and importlib.util.find_spec(name) is None
    except ModuleNotFoundError:  # a package above it
        return True


def plugin_info(path: str) -> dict[str, Any]:
    """What the loaded library at ``path`` says it registers."""
    get = _open(path).tritonGetPluginInfo
    get.restype = ctypes.POINTER(_PluginInfo)
    info = get().contents
    if info.api_version != PLUGIN_API:  # the rest of the structure is unknown
        return {"api_version": info.api_version}
    return {
        "api_version": info.api_version,
        "name": info.name.decode(),
        "version": info.version.decode(),
        "built_for_triton": (info.triton_version or b"").decode(),
        "passes": [info.passes[i].name.decode() for i in range(info.passes_count)],
        "ops": [info.ops[i].name.decode() for i in range(info.ops_count)],
        "dialects": [info.dialects[i].name.decode() for i in range(info.dialects_count)],
    }


def probe(libtriton: str, libraries: list[str]) -> None:
    """Print, a JSON object a line, the variable as it is once this interpreter has started, and
    what each library says of itself, ``libtriton`` being loaded as a mere library.

    Triton itself is not imported, so a library that it would refuse does no harm; one whose
    loading kills this process leaves the lines before it.
    """
    print(json.dumps({"variable": os.environ.get(VARIABLE)}), flush=True)
    if libraries:
        ctypes.CDLL(libtriton, mode=os.RTLD_GLOBAL | os.RTLD_LAZY)
    for library in libraries:
        try:
            said = plugin_info(library)
        except (OSError, AttributeError) as error:
            said = {"error": str(error)}
        print(json.dumps({"library": library, **said}), flush=True)


def undeclared(before: dict[str, Any], known: list[str]) -> list[str]:
    """Libraries that importing ``triton`` mapped and that are plugins, other than ``known``."""
    new = set(mapped()) - set(before["mapped"]) - {os.path.realpath(path) for path in known}
    found = []
    for path in sorted(new):
        if ".so" not in os.path.basename(path):
            continue
        try:
            library = _open(path, os.RTLD_NOLOAD)
        except OSError:  # mapped as data, not as a library
            continue
        if hasattr(library, "tritonGetPluginInfo"):
            found.append(path)
    return found


def _open(path: str, mode: int = 0) -> ctypes.CDLL:
    """A library, its functions bound lazily as Triton has it; raises OSError if it cannot be.

    ctypes itself always binds at once, and then fails for a function that is never called.
    """
    libc = ctypes.CDLL(None)
    libc.dlopen.argtypes, libc.dlopen.restype = [ctypes.c_char_p, ctypes.c_int], ctypes.c_void_p
    libc.dlerror.restype = ctypes.c_char_p
    handle = libc.dlopen(os.fsencode(path), os.RTLD_LAZY | mode)
    if not handle:
        raise OSError((libc.dlerror() or b"not loaded").decode("utf-8", "replace"))
    return ctypes.CDLL(path, handle=handle)


def locate(library: str) -> str:
    """The file of a library given relative to site-packages or whole, or ``""``."""
    candidates = (os.path.join(folder, library) for folder in sys.path if folder and library)
    return next((path for path in candidates if os.path.isfile(path)), "")


def mapped() -> list[str]:
    """The files that this process has mapped."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
        fields = (line.rstrip("\n").split(None, 5) for line in file)
        return sorted({line[5] for line in fields if len(line) == 6 and line[5][0] == "/"})
