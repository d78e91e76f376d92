"""Which public TLX names a compilation uses, seen while its front end runs.

Reading the kernel's source would count branches that a constexpr switches off, and miss what
operations make. Two things count: the front end looked the name up while it walked a function,
or made an instance of the class (or of one derived from it).
"""

from __future__ import annotations

import enum
import functools
import sys
from typing import Any, Callable

from harness.worker import surface


def watch(path: str) -> None:
    """From now on, write each name when it is first used to ``path``, one a line, at once.

    A crash keeps what was written. A process that has not imported TLX uses none of it.
    """
    if surface.TLX not in sys.modules:
        return
    public = surface.public()
    names: dict[int, list[str]] = {}
    for name, value in public.items():
        names.setdefault(id(value), []).append(name)
    seen: set[int] = set()

    def note(value: Any) -> None:
        if id(value) in names and id(value) not in seen:
            seen.add(id(value))
            with open(path, "a") as file:  # not kept open: a kernel file may write anywhere
                file.writelines(f"{name}\n" for name in names[id(value)])

    for value in public.values():
        if isinstance(value, type) and not issubclass(value, enum.Enum):
            _watch_instances(value, note)
    _watch_lookups(note)


def _watch_instances(cls: type, note: Callable[[Any], None]) -> None:
    """Wrap what makes instances: ``__init__``, or ``__new__`` where that alone is the class's
    own (Triton's aggregates)."""
    name = next((name for name in ("__init__", "__new__") if name in vars(cls)), "")
    if not name:
        return  # a base class makes them
    original = getattr(cls, name)

    @functools.wraps(original)
    def made(first: Any, *args: Any, **keywords: Any) -> Any:
        for kind in (first if isinstance(first, type) else type(first)).__mro__:
            note(kind)
        return original(first, *args, **keywords)

    setattr(cls, name, made)


def _watch_lookups(note: Callable[[Any], None]) -> None:
    from triton.compiler.code_generator import (  # type: ignore[import-not-found]
        CodeGenerator,
    )

    def watched(visit: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        @functools.wraps(visit)
        def visited(self: Any, node: Any) -> Any:
            value = visit(self, node)
            note(value)
            return value

        return visited

    for method in ("visit_Name", "visit_Attribute"):
        setattr(CodeGenerator, method, watched(getattr(CodeGenerator, method)))
