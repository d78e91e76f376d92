"""Run every pass manager one pass at a time, and look at the IR between passes.

Triton builds a pass manager by calling ``add_*`` functions with it, then runs it. ``install``
replaces those functions by ones that, when handed our pass manager, only note what was asked;
our ``run`` then puts each noted pass alone into a fresh real pass manager. The artifacts are
the same as without (proved per differing case by an unstepped compilation), and the pass that
fails, or that changes the IR, is known.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import time
import types
from typing import Any, Callable, Iterator, Protocol

from harness.worker import printing

CHECKPOINTS = {"make_ttir": "ttir", "make_ttgir": "ttgir"}
BACK_END = "make_llir"


class Observer(Protocol):
    """What a compilation wants to know while it runs."""

    step: bool
    begun: bool

    def entering(self, manager: str, name: str) -> None:
        """A pass (or, unstepped, a whole pass manager) is about to run."""

    def passed(self, step: dict[str, Any], text: str) -> None:
        """A pass ran; ``text`` is the IR after it, printed without debug information."""

    def leaving(self, manager: str, text: str) -> None:
        """A pass manager that ends at a checkpoint is done; ``text`` as above."""

    def handing_over(self, text: str) -> None:
        """The back end is about to begin; ``text`` is the module it is given, in full."""


_observer: Observer | None = None


def observe(observer: Observer | None) -> None:
    """Tell ``observer`` of everything that pass managers do in this process from now on."""
    global _observer
    _observer = observer


def install(libtriton: Any) -> None:
    """Wrap the pass adders of ``libtriton`` and its pass manager; once per process."""
    real = libtriton.ir.pass_manager

    class SteppingPassManager(real):  # type: ignore[misc, valid-type]
        def __init__(self, context: Any) -> None:
            super().__init__(context)
            self._context = context
            self._noted: list[tuple[str, str, Any, tuple[Any, ...], dict[str, Any]]] = []
            self._debug = False

        def enable_debug(self, *args: Any) -> Any:
            self._debug = True
            return super().enable_debug(*args)

        def run(self, module: Any, *args: Any) -> None:
            manager = str(args[0]) if args else "unnamed"
            observer = _observer
            if observer is not None and observer.step and not observer.begun:
                observer.begun = True
                text = module.str_nodebug()
                observer.passed(_step("front end", "front end", "", "", "", "", 0.0, text), text)
                printing.assume_verified()  # the fork's front end may leave what its passes mend
            if observer is not None and manager == BACK_END:
                observer.handing_over(str(module))
            text = ""
            if observer is None or not observer.step:
                if observer is not None:
                    observer.entering(manager, "")
                super().run(module, *args)
            else:
                for adder, origin, function, arguments, keywords in self._noted:
                    alone = real(self._context)
                    if self._debug:
                        alone.enable_debug()
                    function(alone, *arguments, **keywords)
                    name, options = parse_pipeline(alone.get_pipeline_str())
                    observer.entering(manager, name)
                    started = time.perf_counter()
                    alone.run(module, *args)
                    seconds = time.perf_counter() - started
                    text = module.str_nodebug()
                    given = to_json(arguments, keywords)
                    step = _step(manager, name, options, adder, given, origin, seconds, text)
                    observer.passed(step, text)
            if observer is not None and manager in CHECKPOINTS:
                observer.leaving(manager, text or module.str_nodebug())

        def note(self, adder: str, origin: str, function: Any, args: Any, keywords: Any) -> None:
            self._noted.append((adder, origin, function, args, keywords))

    def wrap(adder: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def added(*args: Any, **keywords: Any) -> Any:
            stepping = args and isinstance(args[0], SteppingPassManager)
            if stepping and _observer is not None and _observer.step:
                origin = _origin(sys._getframe(1).f_code.co_filename)
                return args[0].note(adder, origin, function, args[1:], keywords)
            return function(*args, **keywords)

        return added

    for module, path in _modules(libtriton):
        for name in dir(module):
            value = getattr(module, name)
            if isinstance(value, (type, types.ModuleType)) or not callable(value):
                continue
            if name.startswith("add_") or ".passes" in path or ".tlx_passes" in path:
                setattr(module, name, wrap(f"{path}.{name}", value))
    libtriton.ir.pass_manager = SteppingPassManager


def parse_pipeline(text: str) -> tuple[str, str]:
    """``any(tt.func(name{options}))`` -> ``("name", "options")``; spaces made single.

    A text of another shape is returned whole, with no options.
    """
    inner = text.strip()
    while True:
        head, bracket, rest = inner.partition("(")
        if not bracket or "{" in head or not rest.endswith(")"):
            break
        inner = rest[:-1]
    name, brace, rest = inner.partition("{")
    if not brace:
        return inner.strip(), ""
    return name.strip(), " ".join(rest.rpartition("}")[0].split())


def _step(
    manager: str,
    name: str,
    options: str,
    adder: str,
    arguments: str,
    origin: str,
    seconds: float,
    text: str,
) -> dict[str, Any]:
    data = text.encode()
    return {
        "manager": manager,
        "name": name,
        "options": options,
        "adder": adder,
        "arguments": arguments,
        "origin": origin,
        "sha256": hashlib.sha256(data).hexdigest(),
        "size": len(data),
        "seconds": round(seconds, 6),
    }


def _origin(path: str) -> str:
    """The file whose code added a pass, below site-packages: whose pipeline it is part of."""
    return path.rpartition("site-packages/")[2]


def to_json(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> str:
    """A pass adder's arguments as JSON, or empty if they are not plain values."""
    import json

    try:
        return json.dumps([list(arguments), keywords])
    except TypeError:
        return ""


def _modules(root: Any) -> Iterator[tuple[types.ModuleType, str]]:
    prefix = root.__name__
    seen: set[int] = set()
    stack: list[tuple[types.ModuleType, str]] = [(root, "")]
    while stack:
        module, path = stack.pop()
        if id(module) in seen:
            continue
        seen.add(id(module))
        yield module, path
        for name in dir(module):
            value = getattr(module, name)
            if isinstance(value, types.ModuleType) and value.__name__.startswith(prefix):
                stack.append((value, f"{path}.{name}"))


class Recorder:
    """An observer that writes what it sees into a folder, at once, so that a crash keeps it.

    ``progress`` holds the manager and pass now running, ``trace.jsonl`` the passes done,
    ``checkpoints/<stage>`` the IR at checkpoints, and ``ir`` the IR after each pass, one text
    after the other, each that is new (only texts up to ``snapshot_limit`` bytes; the rest is
    hashed, not kept).
    """

    def __init__(self, folder: str, step: bool, snapshot_limit: int) -> None:
        import json

        self.step = step
        self.begun = False
        self._json = json
        self._folder = folder
        self._limit = snapshot_limit
        self._kept: set[str] = set()
        os.makedirs(os.path.join(folder, "checkpoints"))
        self._progress = os.open(os.path.join(folder, "progress"), os.O_CREAT | os.O_WRONLY)
        self._trace: Any = None  # opened when the kernel file, which may write anywhere, is done

    def entering(self, manager: str, name: str) -> None:
        """See Observer; padded, so that a shorter name overwrites a longer one whole."""
        os.pwrite(self._progress, f"{manager}\t{name}".encode().ljust(256), 0)

    def passed(self, step: dict[str, Any], text: str) -> None:
        """See Observer."""
        sha = step["sha256"]
        step["snapshot"] = step["size"] <= self._limit
        if step["snapshot"] and sha not in self._kept:
            self._kept.add(sha)
            with open(os.path.join(self._folder, "ir"), "ab") as file:
                file.write(text.encode())
        if self._trace is None:
            path = os.path.join(self._folder, "trace.jsonl")
            self._trace = open(path, "w", buffering=1)  # noqa: SIM115  open to the child's end
        self._trace.write(self._json.dumps(step) + "\n")

    def handing_over(self, text: str) -> None:
        """See Observer."""
        with open(os.path.join(self._folder, "checkpoints", "handover"), "w") as file:
            file.write(text)

    def leaving(self, manager: str, text: str) -> None:
        """See Observer."""
        self.entering(f"after {manager}", "")
        name = CHECKPOINTS[manager]
        with open(os.path.join(self._folder, "checkpoints", name), "w") as file:
            file.write(text)
