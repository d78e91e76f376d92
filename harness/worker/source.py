"""Import a kernel from its text, under a path that does not depend on the machine."""

from __future__ import annotations

import linecache
import sys
import types
from typing import Any


def load_kernel(source: str, virtual_path: str, folder: str, function: str) -> Any:
    """The ``@triton.jit`` function ``function`` of a kernel file.

    Line information names ``virtual_path``; ``folder`` is importable, for helper modules that
    stand beside the kernel. Raises whatever the file raises, and LookupError if it lacks the
    function.
    """
    sys.path.insert(0, folder)
    module = types.ModuleType("kernel")
    module.__file__ = virtual_path
    sys.modules["kernel"] = module
    linecache.cache[virtual_path] = (len(source), None, source.splitlines(True), virtual_path)
    exec(compile(source, virtual_path, "exec"), module.__dict__)
    found = module.__dict__.get(function)
    if found is None:
        raise LookupError(f"{virtual_path} defines no {function!r}")
    if type(found).__name__ in ("Autotuner", "Heuristics"):
        raise LookupError(
            f"{function!r} in {virtual_path} is autotuned: which configuration is compiled would"
            " depend on a GPU; pin each one as a specialisation in case.py instead"
        )
    if not hasattr(found, "arg_names"):
        raise LookupError(f"{function!r} in {virtual_path} is not a @triton.jit function")
    return found
