"""Coverage of the TLX language: each public name, on each side, and the cases that use it.

Names and signatures are read from each toolchain at run time; which kernels use them, from the
kernels' source. A name counts as exercised on a target only if a case that uses it compiled
there on a side.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence

import msgspec

from harness.compile import Worker, scratch
from harness.model import CaseResult, NameCoverage, Outcome
from harness.store import Store, digest

TLX_MODULES = ("triton.language.extra.tlx",)
Surface = dict[str, tuple[str, str | None]]


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
    """One record for each name that a side has, or that a kernel uses."""
    used: dict[str, list[CaseResult]] = {}
    for result in results:
        for name in names_used(result.case.source):
            used.setdefault(name, []).append(result)
    every = sorted({name for names in surfaces.values() for name in names})
    found = []
    for name in every:
        using = used.get(name, [])
        signatures = {
            role: names[name][1] or "" for role, names in surfaces.items() if name in names
        }
        found.append(
            NameCoverage(
                name=name,
                kind=next(names[name][0] for names in surfaces.values() if name in names),
                signatures=signatures,
                cases=tuple(result.case.id for result in using),
                targets=tuple(
                    sorted({str(r.case.target) for r in using if _compiled_somewhere(r)})
                ),
                failures={
                    role: words
                    for role in signatures
                    if (words := _failure_everywhere(role, using))
                },
            )
        )
    return tuple(found)


def names_used(source: str) -> frozenset[str]:
    """The attributes of the TLX module that a kernel file uses; empty if it does not parse."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return frozenset()
    aliases = set()
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            aliases |= {a.asname or a.name for a in node.names if a.name in TLX_MODULES}
        elif isinstance(node, ast.ImportFrom) and node.module in TLX_MODULES:
            names |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "triton.language.extra":
            aliases |= {a.asname or a.name for a in node.names if a.name == "tlx"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in aliases:
            names.add(node.attr)
    return frozenset(names)


def _as_text(signature: Sequence[Sequence[str]] | None) -> str | None:
    if signature is None:
        return None
    marks = {"var_positional": "*", "var_keyword": "**"}
    parts = [
        marks.get(kind, "") + name + (f"={default}" if default else "")
        for name, kind, default in signature
    ]
    return f"({', '.join(parts)})"


def _compiled_somewhere(result: CaseResult) -> bool:
    return any(c.outcome is Outcome.OK for c in result.compilations.values())


def _failure_everywhere(role: str, using: Sequence[CaseResult]) -> str:
    """The side's own words, if no case that uses a name compiles there; else nothing."""
    sides = [result.compilations[role] for result in using if role in result.compilations]
    if not sides or any(side.outcome is Outcome.OK for side in sides):
        return ""
    failure = sides[0].failure
    return failure.message.strip().splitlines()[-1][:300] if failure is not None else ""
