"""Coverage of the TLX language: each public name, on each side, and the cases that use it.

Names and signatures are read from each toolchain at run time; which cases use them is noted by
the workers as they compile (``harness.worker.usage``). A name counts as exercised on a target
only if a case that uses it compiled there on a side, that side printed no error (what could not
be made may have been left out), and the case's FileCheck files hold there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

import msgspec

from harness.model import Compilation, Failure
from harness.result import CaseResult, NameCoverage, NameUse
from harness.scratch import scratch
from harness.store import Store, digest
from harness.workers import Worker

Surface = dict[str, tuple[str, str | None]]
WORDS = 300  # characters of a diagnostic
_ERROR = re.compile(r"\berror\s*:|LLVM ERROR|Assertion")
_WRAPPER = re.compile(
    r"^PTXAS error: Internal|^PassManager::run failed$|Failures have been detected"
)
_ASSEMBLED = re.compile(r"^ptxas \S+, line \d+; ")


class _Surface(msgspec.Struct):
    names: dict[str, tuple[str, str | None]]


def surface(worker: Worker, fingerprint: str, store: Store) -> Surface:
    """The public TLX names of a side: name -> (kind, signature as text); kept in the store.

    Empty where the side has no TLX (plain upstream).
    """
    key = digest(f"{fingerprint}:1".encode())
    known = store.load("surface", key, _Surface)
    if known is not None:
        return known.names
    with scratch(store) as folder:
        worker.run({"job": "surface"}, folder)
        path = folder / "result.json"
        result = json.loads(path.read_text()) if path.exists() else {}
    names = {
        name: (entry["kind"], _as_text(entry["signature"]))
        for name, entry in result.get("surface", {}).items()
    }
    store.save("surface", key, _Surface(names))
    return names


def measure(
    surfaces: Mapping[str, Surface], results: Sequence[CaseResult]
) -> tuple[NameCoverage, ...]:
    """One record for each name that a side has."""
    using: dict[str, dict[str, list[CaseResult]]] = {}
    for result in results:
        for name in {name for side in result.compilations.values() for name in side.names}:
            using.setdefault(name, {}).setdefault(str(result.case.target), []).append(result)
    every = sorted({name for names in surfaces.values() for name in names})
    found = []
    for name in every:
        having = [role for role, names in surfaces.items() if name in names]
        found.append(
            NameCoverage(
                name=name,
                kind=surfaces[having[0]][name][0],
                signatures={role: surfaces[role][name][1] or "" for role in having},
                uses=tuple(
                    _use(target, name, having, cases)
                    for target, cases in sorted(using.get(name, {}).items())
                ),
            )
        )
    return tuple(found)


def _use(target: str, name: str, having: Sequence[str], results: Sequence[CaseResult]) -> NameUse:
    compiled = []
    refusals = {}
    for role in having:
        sides = [
            (side.failure is not None, len(side.names), _against(result, side))
            for result in results
            if (side := result.compilations.get(role)) is not None and name in side.names
        ]
        if any(not words for *_, words in sides):
            compiled.append(role)
        elif sides:
            refusals[role] = min(sides)[-1]
    return NameUse(target, tuple(r.case.id for r in results), tuple(compiled), refusals)


def _as_text(signature: Sequence[Sequence[str]] | None) -> str | None:
    if signature is None:
        return None
    marks = {"var_positional": "*", "var_keyword": "**"}
    parts = [
        marks.get(kind, "") + name + (f"={default}" if default else "")
        for name, kind, default in signature
    ]
    return f"({', '.join(parts)})"


def _against(result: CaseResult, side: Compilation) -> str:
    """Why a side does not show that what it uses works there; empty if nothing says so: its
    diagnostic, or the check that does not hold.
    """
    if side.failure is not None:
        return _diagnostic(side.failure)
    if side.printed_errors:
        return side.printed_errors.splitlines()[0][:WORDS]
    broken = [c.file for c in result.checks if c.role == side.role and not c.passed]
    return f"compiles, but {broken[0]} does not hold" if broken else ""


def _diagnostic(failure: Failure) -> str:
    """The line of a failure that says why.

    A front end's message ends in the kernel's text, a line that holds only a caret, and the
    reason, if it gives one; a pass's and an assembler's are wrapped in lines that give none.
    """
    lines = [line.strip() for line in failure.message.splitlines() if line.strip()]
    if "^" in lines:
        caret = len(lines) - lines[::-1].index("^")
        lines = lines[caret:] or [f"{failure.exception} at: {lines[caret - 2]}"]
    lines = [line for line in lines if not _WRAPPER.search(line)] or lines
    errors = [line for line in lines if _ERROR.search(line)]
    words = (errors or lines or [failure.signal or failure.phase])[0]
    return _ASSEMBLED.sub("ptxas: ", words)[:WORDS]
