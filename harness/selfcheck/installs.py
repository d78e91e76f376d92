"""Differences planted in toolchains: what runs is not what is meant, and it must be noticed.

Files are only changed in an environment that was made for this, and restored.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from harness import compare
from harness.compile import compile_case, compile_key
from harness.errors import HarnessError
from harness.ledger import Ledger
from harness.model import Case, Compilation, ToolchainIdentity, Verdict
from harness.selfcheck.table import Finding
from harness.session import Session
from harness.store import Store
from harness.toolchains import (
    Controls,
    Toolchain,
    controls,
    identify,
    proof_problems,
    verify,
)
from harness.workers import Worker

GROUP = "toolchains"
_MARK = b"GCC: ("  # in `.comment` of every library: the name of a compiler, read by nobody
Edit = Callable[[Path], object]


def plant_in_toolchains(
    toolchains: Mapping[str, Toolchain], spare: Toolchain, case: Case, folder: Path
) -> Iterator[Finding]:
    """Plant in ``spare``, a second environment of the role ``plugin``, and in what is said of the
    ``toolchains`` (fork, plugin, upstream). ``case`` is compiled into stores below ``folder``."""
    plugin = toolchains["plugin"]
    yield from _patched(spare)
    yield from _not_loaded(toolchains, spare)
    yield from _the_same(plugin, spare, Store(folder / "same"))
    yield from _stale(spare, case, Store(folder / "stale"))
    yield from _unpinned(toolchains, case, Store(folder / "unpinned"))


# --- other files ----------------------------------------------------------------------------


def _one_byte(path: Path) -> None:
    """One byte that changes nothing, in a library; size and time of change stay the same."""
    data = path.read_bytes()
    at = data.find(_MARK)
    if at < 0:  # a file without that section: behind what its headers describe
        at = len(data) - 1
    changed = bytearray(data)
    changed[at] ^= 0x20
    path.write_bytes(changed)


def _comment(path: Path) -> None:
    """One more comment in a Python file."""
    path.write_bytes(path.read_bytes() + b"# planted\n")


def _patched(spare: Toolchain) -> Iterator[Finding]:
    """A file of an installed toolchain is another one; its RECORD says so, and so must we."""
    before = identify(spare).fingerprint
    tools = spare.package / "backends" / "nvidia" / "bin"
    library = spare.site_packages / spare.descriptors[0].library
    other_ptxas = tools / "ptxas"
    planted: list[tuple[str, Path, Edit]] = [
        ("a patched library", next((spare.package / "_C").glob("libtriton*.so")), _one_byte),
        ("a patched library", library, _one_byte),
        ("a patched library", tools / "nvdisasm", _one_byte),
        ("another ptxas", tools / "ptxas-blackwell", lambda path: _replace(path, other_ptxas)),
        ("another ptxas", tools / "ptxas", _one_byte),
        ("patched Python", spare.package / "compiler" / "compiler.py", _comment),
        ("patched Python", spare.package / "backends" / "nvidia" / "compiler.py", _comment),
        ("patched Python", library.parent / "__init__.py", _comment),
    ]
    planted += [
        ("a patched device library", path, _one_byte)
        for path in sorted((spare.package / "backends").glob("*/lib/*.bc"))[:2]
    ]
    for kind, path, edit in planted:
        if path.exists():
            name = str(path.relative_to(spare.site_packages))
            with _changed(path, edit):
                after, told = identify(spare).fingerprint, verify(spare)
            yield Finding(
                GROUP,
                kind,
                name,
                edit.__doc__ or "another file in its place",
                caught=after != before,
                located=any(name in line for line in told),
                answer="; ".join(told) or "nothing said",
            )


def _replace(path: Path, other: Path) -> None:
    """The file becomes a copy of another one of the same toolchain."""
    path.write_bytes(other.read_bytes())


@contextlib.contextmanager
def _changed(path: Path, edit: Edit) -> Iterator[None]:
    """``path`` after ``edit``, with the time of change that it had; then as it was."""
    stamp = path.stat()
    kept = path.with_name(f".{path.name}.kept")
    shutil.copy2(path, kept)
    try:
        edit(path)
        if path.exists():
            os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        yield
    finally:
        os.replace(kept, path)


# --- what is loaded -------------------------------------------------------------------------


def _not_loaded(toolchains: Mapping[str, Toolchain], spare: Toolchain) -> Iterator[Finding]:
    """A side that is not what its role says makes a run void."""
    fork, plugin, upstream = (toolchains[role] for role in ("fork", "plugin", "upstream"))
    replace = msgspec.structs.replace
    promised = replace(
        plugin.descriptors[0], passes=(*plugin.descriptors[0].passes, "a_pass_that_is_not")
    )
    older = replace(plugin.descriptors[0], built_for_triton="3.7.0")
    foreign = [
        ("a plugin not loaded", "upstream as plugin", _as(upstream, plugin), "not installed"),
        ("a fork as plugin", "fork as plugin", _as(fork, plugin), "fork"),
        ("a plugin as fork", "plugin as fork", _as(plugin, fork), "not the fork"),
        ("a plugin in the baseline", "plugin as upstream", _as(plugin, upstream), "no part"),
        (
            "a pass not registered",
            "one more promised",
            replace(plugin, descriptors=(promised,)),
            "a_pass_that_is_not",
        ),
        (
            "a plugin for another Triton",
            "3.7.0 declared",
            replace(plugin, descriptors=(older,)),
            "built for",
        ),
    ]
    for kind, what, toolchain, says in foreign:
        yield _void(kind, what, toolchain, says)
    library = spare.site_packages / spare.descriptors[0].library
    for path in sorted(spare.site_packages.glob("*.pth")):
        with _changed(path, lambda path: path.write_bytes(b"")):
            yield _void("a plugin not loaded", f"{path.name} is empty", spare, "not loaded")
    with _changed(library, lambda path: path.write_bytes(path.read_bytes()[:4096])):
        yield _void("a damaged plugin", "its library is cut off", spare, "")
    with _changed(library, lambda path: path.unlink()):
        yield _void("a damaged plugin", "its library is gone", spare, "")


def _as(toolchain: Toolchain, role: Toolchain) -> Toolchain:
    """``toolchain``'s environment, under what ``role`` promises."""
    return msgspec.structs.replace(
        toolchain, role=role.role, descriptors=role.descriptors, builtin_tlx=role.builtin_tlx
    )


def _void(kind: str, what: str, toolchain: Toolchain, says: str) -> Finding:
    try:
        problems = proof_problems(identify(toolchain), toolchain)
    except HarnessError as error:  # it cannot even be imported, and the error says so
        problems = [str(error)]
    answer = "; ".join(problems)
    return Finding(
        GROUP,
        kind,
        toolchain.role,
        what,
        caught=bool(problems),
        located=says in answer and toolchain.role in answer,
        answer=answer or "no problem seen",
    )


# --- two sides that are one -----------------------------------------------------------------


def _the_same(plugin: Toolchain, spare: Toolchain, store: Store) -> Iterator[Finding]:
    """One toolchain under two names, from one environment or from two."""
    for what, other in (("one environment", plugin), ("two environments", spare)):
        candidate = msgspec.structs.replace(other, role="candidate")
        ledger = Ledger((), datetime.date.today())
        given = controls("controlled", {"plugin": plugin})
        with Session(plugin, candidate, store, ledger, "controlled", given) as session:
            void = session.void
        yield Finding(
            GROUP,
            "both sides the same",
            "plugin",
            what,
            caught=bool(void),
            located="same toolchain" in void,
            answer=void or "not void",
        )


# --- stale results --------------------------------------------------------------------------


def _stale(spare: Toolchain, case: Case, store: Store) -> Iterator[Finding]:
    """A stored compilation of a toolchain, a kernel or settings that have changed since."""
    given = controls("controlled", {spare.role: spare})
    before = identify(spare)
    with Worker(spare, given) as worker:
        kept = compile_case(worker, case, before.fingerprint, store)
    library = spare.site_packages / spare.descriptors[0].library
    with _changed(library, _one_byte):
        swapped = identify(spare)
    replace = msgspec.structs.replace
    bumped = {**given.described, "TRITON_PTXAS_PATH": "another one"}
    later = {
        "the plugin's library swapped in place": (case, swapped, given),
        "another ptxas in the controls": (case, before, replace(given, described=bumped)),
        "the kernel edited": (replace(case, source=case.source + "\n"), before, given),
        "another option": (replace(case, options={**case.options, "num_stages": 5}), before, given),
        "another specialisation": (
            replace(case, divisible_by_16=case.divisible_by_16[1:]),
            before,
            given,
        ),
    }
    for what, inputs in later.items():
        key = _key(*inputs)
        yield Finding(
            GROUP,
            "a stale cache",
            case.id,
            what,
            caught=key != kept.key and store.load_compilation(key) is None,
            located=store.load_compilation(kept.key) is not None,
            answer="compiled again" if key != kept.key else "taken from the store",
        )


def _key(case: Case, identity: ToolchainIdentity, given: Controls) -> str:
    return compile_key(case, identity.fingerprint, given)


# --- options --------------------------------------------------------------------------------

_OPTIONS: tuple[tuple[dict[str, object], str, object, str], ...] = (
    ({"debug": True}, "sanitize_overflow", True, "ttir"),
    ({}, "num_warps", 8, "ttir"),
    ({}, "maxnreg", 64, "ttgir"),
    ({}, "num_ctas", 2, "ttgir"),
)
"""Options of both sides, one that only one side is given, and where that must show first."""


def _unpinned(toolchains: Mapping[str, Toolchain], case: Case, store: Store) -> Iterator[Finding]:
    """An option that the two sides are not given alike."""
    plugin = toolchains["plugin"]
    fingerprint = identify(plugin).fingerprint
    given = controls("controlled", {"plugin": plugin})
    free = msgspec.structs.replace(given, options={})
    with Worker(plugin, free) as worker:
        for common, name, value, first in _OPTIONS:
            options = {**case.options, **given.options, **common}
            sides = [
                compile_case(
                    worker, msgspec.structs.replace(case, options=each), fingerprint, store
                )
                for each in (options, {**options, name: value})
            ]
            differing = [
                stage
                for stage in (*case.target.stages, "metadata")
                if _verdict(stage, sides[0], sides[1], store) is Verdict.DIFFERENT
            ]
            yield Finding(
                GROUP,
                "an unpinned option",
                case.id,
                f"{name} is {value} on one side only",
                caught=bool(differing),
                located=differing[:1] == [first],
                answer=f"differs at {', '.join(differing) or 'no stage'}",
            )


def _verdict(stage: str, left: Compilation, right: Compilation, store: Store) -> Verdict:
    old, new = (store.read(side.artifacts.get(stage)) for side in (left, right))
    return compare.compare(stage, old, new).verdict
