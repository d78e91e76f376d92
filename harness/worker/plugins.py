"""Plugins as the running process has them: where they lie, what is mapped, what they register."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

from harness.worker.hashes import Hashes

PLUGIN_API = 2


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
        "library": library,
        "sha256": hashes.sha256(path) if path else "",
        "mapped_before_import": any(
            os.path.basename(early) == os.path.basename(library) for early in before["early"]
        ),
        "mapped_after_import": bool(path) and os.path.realpath(path) in mapped(),
        "api_version": 0,
        "name": "",
        "version": "",
        "built_for_triton": "",
        "passes": [],
        "ops": [],
        "dialects": [],
    }
    if found["mapped_after_import"]:
        # Loaded by Triton, never by us: only then does asking the library prove anything.
        found |= _plugin_info(path)
    if descriptor is not None:
        # A pass or op counts once the library offers it and Triton has bound it.
        bound_passes = set(dir(getattr(libtriton.passes, "plugin", None)))
        bound_ops = set(dir(libtriton.ir.builder))
        there = {
            "passes": bound_passes & set(found["passes"]),
            "ops": bound_ops & set(found["ops"]),
            "dialects": set(found["dialects"]),
        }
        found["missing"] = [
            f"{kind} {name}"
            for kind, plural in (("pass", "passes"), ("op", "ops"), ("dialect", "dialects"))
            for name in descriptor[plural]
            if name not in there[plural]
        ]
    return found


def _plugin_info(path: str) -> dict[str, Any]:
    """What the loaded library at ``path`` says it registers."""
    get = ctypes.CDLL(path).tritonGetPluginInfo
    get.restype = ctypes.POINTER(_PluginInfo)
    info = get().contents
    if info.api_version != PLUGIN_API:  # the rest of the structure is unknown
        return {"api_version": info.api_version}
    return {
        "api_version": info.api_version,
        "name": info.name.decode(),
        "version": info.version.decode(),
        "built_for_triton": info.triton_version.decode(),
        "passes": [info.passes[i].name.decode() for i in range(info.passes_count)],
        "ops": [info.ops[i].name.decode() for i in range(info.ops_count)],
        "dialects": [info.dialects[i].name.decode() for i in range(info.dialects_count)],
    }


def undeclared(before: dict[str, Any], known: list[str]) -> list[str]:
    """Libraries that importing ``triton`` mapped and that are plugins, other than ``known``."""
    new = set(mapped()) - set(before["mapped"]) - {os.path.realpath(path) for path in known}
    found = []
    for path in sorted(new):
        if ".so" not in os.path.basename(path):
            continue
        try:
            library = ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
        except OSError:  # mapped as data, not as a library
            continue
        if hasattr(library, "tritonGetPluginInfo"):
            found.append(path)
    return found


def locate(library: str) -> str:
    """The file of a library given relative to site-packages, or ``""``."""
    candidates = (os.path.join(folder, library) for folder in sys.path if folder)
    return next((path for path in candidates if os.path.isfile(path)), "")


def mapped() -> list[str]:
    """The files that this process has mapped."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
        fields = (line.rstrip("\n").split(None, 5) for line in file)
        return sorted({line[5] for line in fields if len(line) == 6 and line[5][0] == "/"})
