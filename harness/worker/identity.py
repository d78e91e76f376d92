"""What a toolchain is, measured in its own interpreter; and the proof that its plugins loaded.

Standard library only, Python 3.10 and later. ``before_import`` runs before ``triton`` is
imported, ``after_import`` after; both take plugin descriptors as plain dicts. Run as a script,
it reads ``{"descriptors": [...]}`` from standard input and prints ``after_import``'s result.

Nothing here is remembered but file hashes, each under its file's path, inode, size, mtime and
ctime, in the file that ``TLX_EQUIV_HASHES`` names: an edited file is always hashed again.
"""

from __future__ import annotations

import ctypes
import glob
import hashlib
import importlib.metadata
import json
import mmap
import os
import re
import site
import sys
import tempfile
from typing import Any

HASHES_VARIABLE = "TLX_EQUIV_HASHES"
PLUGIN_API = 2
_LLD = re.compile(rb"LLD [^\0]{1,40} \([^\0 ]*llvm-project ([0-9a-f]{40})\)")


class _Pass(ctypes.Structure):
    _fields_ = [  # noqa: RUF012  ctypes wants a plain list
        ("name", ctypes.c_char_p),
        ("version", ctypes.c_char_p),
        ("add", ctypes.c_void_p),
        ("register", ctypes.c_void_p),
    ]


class _Dialect(ctypes.Structure):
    _fields_ = [  # noqa: RUF012
        ("name", ctypes.c_char_p),
        ("version", ctypes.c_char_p),
        ("register", ctypes.c_void_p),
    ]


class _Op(ctypes.Structure):
    _fields_ = [  # noqa: RUF012
        ("name", ctypes.c_char_p),
        ("add", ctypes.c_void_p),
    ]


class _PluginInfo(ctypes.Structure):
    """What ``tritonGetPluginInfo`` returns, version 2 of the plugin API."""

    _fields_ = [  # noqa: RUF012
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


class Hashes:
    """sha256 of files, remembered in ``path`` (nothing is remembered where it is empty)."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._known: dict[str, Any] = {}
        self._changed = False
        try:
            with open(path, encoding="utf-8") as file:
                known = json.load(file)
        except (OSError, ValueError):
            return  # absent or damaged: only a cache
        if isinstance(known, dict):
            self._known = known

    def sha256(self, path: str) -> str:
        """The hash of the file's contents, lower-case hex."""
        with open(path, "rb", buffering=0) as file:
            found = os.fstat(file.fileno())
            stamp = [found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]
            known = self._known.get(path)
            if isinstance(known, list) and known[:-1] == stamp:
                return str(known[-1])
            digest = hashlib.sha256()
            while block := file.read(1 << 20):
                digest.update(block)
        self._known[path] = [*stamp, digest.hexdigest()]
        self._changed = True
        return digest.hexdigest()

    def llvm_revision(self, library: str) -> str:
        """The commit of the LLVM linked into ``library``, as its linker names it, or ``""``."""
        key = "llvm " + self.sha256(library)
        if key not in self._known:
            with (
                open(library, "rb") as file,
                mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
            ):
                self._known[key] = _find_llvm(data)
            self._changed = True
        return str(self._known[key])

    def save(self) -> None:
        """Write what is new; a folder that cannot be written only means hashing again."""
        if not (self.path and self._changed):
            return
        try:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=os.path.dirname(self.path))
        except OSError:
            return
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(self._known, file)
            os.replace(temporary, self.path)
        except OSError:
            os.unlink(temporary)


def before_import(descriptors: list[dict[str, Any]]) -> dict[str, Any]:
    """What this process has mapped before ``triton`` is imported."""
    names = {os.path.basename(descriptor["library"]) for descriptor in descriptors}
    mapped = _mapped()
    return {"mapped": mapped, "early": [p for p in mapped if os.path.basename(p) in names]}


def after_import(before: dict[str, Any], descriptors: list[dict[str, Any]]) -> dict[str, Any]:
    """The fields of ``ToolchainIdentity`` except ``role``, once ``triton`` is imported."""
    import triton  # type: ignore[import-not-found]
    from triton._C import libtriton  # type: ignore[import-not-found]

    hashes = Hashes(os.environ.get(HASHES_VARIABLE, ""))
    package = os.path.dirname(os.path.abspath(triton.__file__))
    located = {d["library"]: _locate(d["library"]) for d in descriptors}
    plugins = [
        _proof(d["library"], located[d["library"]], d, before, libtriton, hashes)
        for d in descriptors
    ]
    plugins += [
        _proof(path, path, None, before, libtriton, hashes)
        for path in _undeclared(before, [libtriton.__file__, *located.values()])
    ]
    libraries = {
        os.path.relpath(path, os.path.dirname(package)): hashes.sha256(path)
        for pattern in ("_C/*.so", "backends/*/bin/*", "backends/*/lib/*.bc")
        for path in sorted(glob.glob(os.path.join(glob.escape(package), pattern)))
        if os.path.isfile(path)
    }
    libraries |= {plugin["library"]: plugin["sha256"] for plugin in plugins if plugin["sha256"]}

    folders = {os.path.dirname(package), *site.getsitepackages()}
    folders |= {path[: -len(library)] for library, path in located.items() if path}
    found = list(importlib.metadata.distributions(path=sorted(folders)))
    distributions = sorted({f"{d.metadata['Name'].lower()}=={d.version}" for d in found})
    trees = {package, *(os.path.dirname(path) for path in located.values() if path)}
    trees |= _owned_folders(found, set(located))
    measured = {
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "distributions": distributions,
        "libraries": libraries,
        "records": sorted(_record(distribution) for distribution in found),
        "sources": sorted(_sources(trees, folders)),
    }
    identity = {
        "fingerprint": hashlib.sha256(json.dumps(measured, sort_keys=True).encode()).hexdigest(),
        "interpreter": sys.executable,
        "python": sys.version.split()[0],
        "triton_version": triton.__version__,
        "llvm_revision": hashes.llvm_revision(libtriton.__file__),
        "distributions": distributions,
        "libraries": libraries,
        "plugins": plugins,
    }
    hashes.save()
    return identity


# --- plugins ------------------------------------------------------------------------------


def _proof(
    library: str,
    path: str,
    descriptor: dict[str, Any] | None,
    before: dict[str, Any],
    libtriton: Any,
    hashes: Hashes,
) -> dict[str, Any]:
    """The fields of ``PluginProof`` for the library at ``path`` (empty: there is none)."""
    proof: dict[str, Any] = {
        "library": library,
        "sha256": hashes.sha256(path) if path else "",
        "mapped_before_import": any(
            os.path.basename(early) == os.path.basename(library) for early in before["early"]
        ),
        "mapped_after_import": bool(path) and os.path.realpath(path) in _mapped(),
        "api_version": 0,
        "name": "",
        "version": "",
        "built_for_triton": "",
        "passes": [],
        "ops": [],
        "dialects": [],
    }
    if proof["mapped_after_import"]:
        # Loaded by Triton, never by us: only then does asking the library prove anything.
        proof |= _plugin_info(path)
    if descriptor is not None:
        # A pass or op counts once the library offers it and Triton has bound it.
        bound_passes = set(dir(getattr(libtriton.passes, "plugin", None)))
        bound_ops = set(dir(libtriton.ir.builder))
        there = {
            "passes": bound_passes & set(proof["passes"]),
            "ops": bound_ops & set(proof["ops"]),
            "dialects": set(proof["dialects"]),
        }
        proof["missing"] = [
            f"{kind} {name}"
            for kind, plural in (("pass", "passes"), ("op", "ops"), ("dialect", "dialects"))
            for name in descriptor[plural]
            if name not in there[plural]
        ]
    return proof


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


def _undeclared(before: dict[str, Any], known: list[str]) -> list[str]:
    """Libraries that importing ``triton`` mapped and that are plugins, other than ``known``."""
    new = set(_mapped()) - set(before["mapped"]) - {os.path.realpath(path) for path in known}
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


def _locate(library: str) -> str:
    """The file of a library given relative to site-packages, or ``""``."""
    candidates = (os.path.join(folder, library) for folder in sys.path if folder)
    return next((path for path in candidates if os.path.isfile(path)), "")


def _mapped() -> list[str]:
    """The files that this process has mapped."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
        fields = (line.rstrip("\n").split(None, 5) for line in file)
        return sorted({line[5] for line in fields if len(line) == 6 and line[5][0] == "/"})


# --- what the fingerprint covers ----------------------------------------------------------


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


def _find_llvm(data: mmap.mmap) -> str:
    """The commit that LLD, linked in for AMD's binaries, names as its own."""
    position = data.find(b"LLD ")
    while position >= 0:
        match = _LLD.match(data, position)
        if match:
            return match[1].decode()
        position = data.find(b"LLD ", position + 1)
    return ""


def main() -> None:
    """Identify this interpreter's toolchain: JSON from standard input to standard output."""
    descriptors = json.load(sys.stdin)["descriptors"]
    # What compilers print must not mix with the answer.
    answer = os.dup(1)
    os.dup2(2, 1)
    before = before_import(descriptors)
    with open(answer, "w", encoding="utf-8") as file:
        json.dump(after_import(before, descriptors), file)


if __name__ == "__main__":
    main()
