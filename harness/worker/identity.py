"""What a toolchain is, measured in its own interpreter; and the proof that its plugins loaded.

Standard library only, Python 3.10 and later. ``before_import`` runs before ``triton`` is
imported, ``after_import`` after; both take plugin descriptors as plain dicts. ``main`` does
both: it reads ``{"descriptors": [...]}`` from standard input and prints the result.

Nothing is taken from an earlier time but hashes of unchanged files, kept in the file that
``TLX_EQUIV_HASHES`` names.
"""

from __future__ import annotations

import glob
import hashlib
import importlib.metadata
import json
import os
import site
import sys
from typing import Any

from harness.worker import hooks, loading, plugins
from harness.worker.hashes import Hashes

HASHES_VARIABLE = "TLX_EQUIV_HASHES"


def before_import(descriptors: list[dict[str, Any]]) -> dict[str, Any]:
    """What this process has mapped before ``triton`` is imported."""
    names = {os.path.basename(d["library"]) for d in descriptors if d["library"]}
    mapped = plugins.mapped()
    return {"mapped": mapped, "early": [p for p in mapped if os.path.basename(p) in names]}


def after_import(before: dict[str, Any], descriptors: list[dict[str, Any]]) -> dict[str, Any]:
    """The fields of ``ToolchainIdentity`` except ``role``, once ``triton`` is imported (and
    extended by plugins, on a Triton that is).

    Of stage hooks it knows the files; ``prove_hooks`` tells whether they have joined.
    """
    import triton  # type: ignore[import-not-found]
    from triton._C import libtriton  # type: ignore[import-not-found]

    hashes = Hashes(os.environ.get(HASHES_VARIABLE, ""))
    package = os.path.dirname(os.path.abspath(triton.__file__))
    located = {d["library"]: plugins.locate(d["library"]) for d in descriptors if d["library"]}
    proofs = [
        plugins.proof(d["library"], located.get(d["library"], ""), d, before, libtriton, hashes)
        for d in descriptors
    ]
    proofs += [
        plugins.proof(path, path, None, before, libtriton, hashes)
        for path in plugins.undeclared(before, [libtriton.__file__, *located.values()])
    ]
    libraries = {
        os.path.relpath(path, os.path.dirname(package)): hashes.sha256(path)
        for pattern in ("_C/*.so", "backends/*/bin/*", "backends/*/lib/*.bc")
        for path in sorted(glob.glob(os.path.join(glob.escape(package), pattern)))
        if os.path.isfile(path)
    }
    for proof in proofs:
        if proof["sha256"]:
            libraries[_named(proof["plugin"], proof["library"])] = proof["sha256"]
        if proof["hook"]:
            libraries[_named(proof["plugin"], proof["hook"])] = proof["hook_sha256"]

    folders = {os.path.dirname(package), *site.getsitepackages()}
    # A library that stands by itself brings no Python files; its folder may hold anything.
    located = {library: path for library, path in located.items() if path and path != library}
    folders |= {path[: -len(library)] for library, path in located.items()}
    found = list(importlib.metadata.distributions(path=sorted(folders)))
    distributions = sorted({f"{d.metadata['Name'].lower()}=={d.version}" for d in found})
    trees = {package, *(os.path.dirname(path) for path in located.values())}
    trees |= _owned_folders(found, set(located))
    measured = {
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "distributions": distributions,
        "libraries": libraries,
        "records": sorted(_record(distribution) for distribution in found),
        "sources": sorted(_sources(trees, folders)),
    }
    if added := [d["name"] for d in descriptors if not d["distribution"]]:
        measured["added"] = added  # in this order
    identity = {
        "fingerprint": hashlib.sha256(json.dumps(measured, sort_keys=True).encode()).hexdigest(),
        "interpreter": sys.executable,
        "python": sys.version.split()[0],
        "triton_version": triton.__version__,
        "llvm_revision": hashes.llvm_revision(libtriton.__file__),
        "distributions": distributions,
        "libraries": libraries,
        "plugins": proofs,
    }
    hashes.save()
    return identity


def prove_hooks(identity: dict[str, Any]) -> None:
    """Note in the proofs which stage hooks have joined Triton's, once they should have."""
    for proof in identity["plugins"]:
        proof["hook_joined"] = bool(proof["hook"]) and hooks.joined(proof["hook"])


def _named(plugin: str, path: str) -> str:
    """A plugin's file by a name that does not depend on where it lies, if it is declared."""
    return f"{plugin}/{os.path.basename(path)}" if plugin and os.path.isabs(path) else path


def _record(distribution: importlib.metadata.Distribution) -> str:
    """The hash of a RECORD, less what depends on where and by whom it was installed."""
    lines = (distribution.read_text("RECORD") or "").splitlines()
    kept = [line for line in lines if line[:3] != "../" and ".dist-info/" not in line]
    return hashlib.sha256("\n".join(sorted(kept)).encode()).hexdigest()


def _owned_folders(
    distributions: list[importlib.metadata.Distribution], libraries: set[str]
) -> set[str]:
    """The top-level folders of the distributions that brought ``libraries``."""
    found = set()
    for distribution in distributions:
        files = [str(file) for file in distribution.files or []]
        if libraries.isdisjoint(files):
            continue
        tops = {file.partition("/")[0] for file in files if "/" in file}
        found |= {
            str(distribution.locate_file(top))
            for top in tops
            if top != ".." and not top.endswith(".dist-info")
        }
    return found


def _sources(trees: set[str], folders: set[str]) -> list[str]:
    """``name sha256`` of each Python file in ``trees``, and of those that lie directly in the
    site ``folders``: modules and .pth files there run in every interpreter."""
    paths = [
        (os.path.relpath(os.path.join(folder, name), os.path.dirname(tree)), folder, name)
        for tree in trees
        for folder, _, names in os.walk(tree)
        for name in names
        if name.endswith(".py")
    ]
    paths += [
        (name, folder, name)
        for folder in folders
        for name in os.listdir(folder)
        if name.endswith((".py", ".pth"))
    ]
    found = []
    for relative, folder, name in paths:
        with open(os.path.join(folder, name), "rb") as file:
            found.append(f"{relative} {hashlib.sha256(file.read()).hexdigest()}")
    return found


def main() -> None:
    """Identify this interpreter's toolchain: JSON from standard input to standard output."""
    descriptors = json.load(sys.stdin)["descriptors"]
    # What compilers print must not mix with the answer.
    answer = os.dup(1)
    os.dup2(2, 1)
    before = before_import(descriptors)
    from triton._C import libtriton

    loading.extend(descriptors, libtriton)
    identity = after_import(before, descriptors)
    hooks.install([d["hook"] for d in descriptors if d["hook"]])
    prove_hooks(identity)
    with open(answer, "w", encoding="utf-8") as file:
        json.dump(identity, file)
