"""Stage hooks: Python files of plugins whose ``inspect_stages`` joins Triton's stage hook.

Triton has one slot for such a hook and calls it twice: without arguments for a cache key, and
with a back end, its stages and options while a compilation is set up. A plugin that fills the
slot is kept: hooks are chained, each seeing the stages that the one before has left.
"""

from __future__ import annotations

import hashlib
import importlib.util
from typing import Any, Callable

Hook = Callable[..., Any]


def install(paths: list[str]) -> None:
    """Load each file and chain its ``inspect_stages(backend, stages, options, language,
    capability)`` behind what is there; raises AttributeError if a file has none."""
    for number, path in enumerate(paths):
        spec = importlib.util.spec_from_file_location(f"tlx_equiv_hook_{number}", path)
        assert spec is not None and spec.loader is not None  # a .py path has both
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        chain(module.inspect_stages, _key(path))


def joined(path: str) -> bool:
    """Whether Triton's stage hook, asked for its cache key as Triton does, names this file."""
    from triton import knobs  # type: ignore[import-not-found]

    hook: Hook | None = knobs.runtime.add_stages_inspection_hook
    return hook is not None and _key(path) in hook()[0]


def _key(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def chain(added: Hook, key: str) -> None:
    """Put ``added`` behind the stage hook that is there; ``key`` goes into Triton's cache key."""
    from triton import knobs

    before: Hook | None = knobs.runtime.add_stages_inspection_hook

    def hook(
        backend: Any = None,
        stages: Any = None,
        options: Any = None,
        language: Any = None,
        capability: Any = None,
    ) -> tuple[str, str]:
        arguments = (backend, stages, options, language, capability)
        keys = before(*arguments) if before is not None else ("", "")
        if stages is not None:
            added(*arguments)
        return keys[0] + key, keys[1] + key

    knobs.runtime.add_stages_inspection_hook = hook
