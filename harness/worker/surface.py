"""The public TLX names of a toolchain, and how each is called: read at run time."""

from __future__ import annotations

import importlib
import inspect
import types
from typing import Any

TLX = "triton.language.extra.tlx"


def read() -> dict[str, dict[str, Any]]:
    """Every public name of the TLX module: its kind and, if it is callable, its signature.

    A signature is a list of [name, kind, default], defaults as text; parameters that the
    compiler fills in itself (those whose names start with an underscore) are left out.
    """
    return {
        name: {"kind": _kind(value), "signature": _signature(value)}
        for name, value in public().items()
    }


def public() -> dict[str, Any]:
    """The public names of the TLX module, sorted, and what they are."""
    module = importlib.import_module(TLX)
    listed = set(getattr(module, "__all__", ()))
    found: dict[str, Any] = {}
    for name in sorted(set(dir(module)) | listed):
        value = getattr(module, name, None)
        private = name.startswith("_") and name not in listed
        if not (private or isinstance(value, types.ModuleType) or not _is_tlx(value)):
            found[name] = value
    return found


def _is_tlx(value: Any) -> bool:
    home = getattr(value, "__module__", None) or type(value).__module__
    return "tlx" in str(home)


def _kind(value: Any) -> str:
    if isinstance(value, type):
        return "class"
    return "function" if callable(value) else "value"


def _signature(value: Any) -> list[list[str]] | None:
    function = getattr(value, "fn", value)  # a @triton.jit function wraps the Python one
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    return [
        [p.name, p.kind.name.lower(), "" if p.default is p.empty else repr(p.default)]
        for p in parameters
        if not p.name.startswith("_") and p.name != "self"
    ]
