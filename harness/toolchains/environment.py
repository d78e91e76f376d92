"""Toolchain environments: made once with uv, then found again.

An environment is made under a temporary name, checked against its RECORDs and renamed, so
that whatever has its final name is complete; a file lock lets one process make it and the
others wait. Files are copied, never linked, out of uv's cache: editing a toolchain cannot
reach another one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import distributions
from pathlib import Path
from shutil import rmtree

import filelock
import msgspec
import uv

from harness.errors import HarnessError
from harness.toolchains.declaration import Declaration, Environment, Role, declared
from harness.toolchains.descriptor import VARIABLE, Descriptor
from harness.toolchains.installed import differences
from harness.toolchains.override import TRITON, Plan, planned
from harness.worker.identity import HASHES_VARIABLE

Progress = Callable[[str], None]

CACHE_VARIABLE = "TLX_EQUIV_CACHE"
PROBE_TIMEOUT = 60.0
_WRITABLE = f"free some space, or name a writable folder with {CACHE_VARIABLE}=DIR"
_VERSION = re.compile(r"""^__version__ = ["']([^"'+]+)""", re.MULTILINE)
_PROBE = """
import importlib.util, json, sysconfig
spec = importlib.util.find_spec("triton")
places = list(spec.submodule_search_locations or []) if spec else []
print(json.dumps([sysconfig.get_path("purelib"), places]))
"""


class Toolchain(msgspec.Struct, frozen=True):
    """An environment that is ready for use.

    ``package`` is the folder of its ``triton`` package; ``overlays`` are folders laid over
    the environment; ``env`` is the whole environment of its processes. It must load the
    plugins of ``descriptors`` and have TLX compiled in if, and only if, ``builtin_tlx``.
    ``origin`` says where it comes from.
    """

    role: str
    origin: str
    interpreter: Path
    site_packages: Path
    package: Path
    env: dict[str, str]
    descriptors: tuple[Descriptor, ...] = ()
    overlays: tuple[Path, ...] = ()
    builtin_tlx: bool = False

    @property
    def release(self) -> str:
        """The version of its Triton up to the local part, which is how Triton compares
        versions with those of plugins; ``""`` if its package does not say."""
        match = _VERSION.search((self.package / "__init__.py").read_text())
        return match[1] if match else ""

    @property
    def hooks(self) -> bool:
        """Whether any of its plugins has a stage hook."""
        return any(descriptor.hook for descriptor in self.descriptors)


def ensure(
    role: str,
    override: str | None = None,
    cache: Path | None = None,
    progress: Progress | None = None,
    declaration: Declaration | None = None,
) -> Toolchain:
    """The toolchain for ``role``, its environment made if it does not exist yet.

    ``override`` replaces the pins (see ``harness.toolchains.override``); ``cache`` is used
    instead of ``cache_root()``. ``progress`` hears in words what takes long. Raises
    HarnessError if the toolchain cannot be had.
    """
    declaration = declaration or declared()
    wanted = declaration.role(role)
    plan = planned(wanted, override)
    root = cache_root() if cache is None else cache.expanduser().absolute()
    if plan.interpreter is not None:
        interpreter = plan.interpreter
        site_packages, package = _probe(role, interpreter)
    else:
        folder = _folder(wanted, plan, root)
        interpreter = folder / "bin" / "python"
        if not interpreter.exists():  # never made, or its base interpreter is gone
            _make(folder, plan, wanted, progress or (lambda words: None))
        site_packages = _site_packages(folder)
        package = _package(site_packages, plan)
    return Toolchain(
        role=role,
        origin=plan.origin,
        interpreter=interpreter,
        site_packages=site_packages,
        package=package,
        env=_env(declaration.environment, root, interpreter)
        | _announced(plan.descriptors, site_packages),
        descriptors=plan.descriptors,
        overlays=plan.overlays,
        builtin_tlx=wanted.builtin_tlx,
    )


def place(role: str, override: str | None = None) -> Path | None:
    """The folder of the environment that ``ensure`` would find or make; None if ``override`` is
    an environment of the user's own. Raises HarnessError if it cannot be used."""
    wanted = declared().role(role)
    plan = planned(wanted, override)
    return None if plan.interpreter else _folder(wanted, plan, cache_root())


def evict(folder: Path) -> None:
    """Remove the environment in ``folder``, to be made again when it is asked for."""
    with _lock(folder, lambda: None):
        rmtree(folder, ignore_errors=True)


def cache_root() -> Path:
    """The folder for environments and other things that can be made again: the one that
    ``TLX_EQUIV_CACHE`` names, else ``tlx-equiv`` in the user's cache folder.
    """
    if os.environ.get(CACHE_VARIABLE):
        return Path(os.environ[CACHE_VARIABLE]).expanduser().absolute()
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "tlx-equiv"


def _folder(role: Role, plan: Plan, root: Path) -> Path:
    python = role.python or f"{sys.version_info.major}.{sys.version_info.minor}"
    return root / "toolchains" / f"{role.name}-{plan.digest(python)}"


def _site_packages(folder: Path) -> Path:
    return next(folder.glob("lib/python*/site-packages"))


def _package(site_packages: Path, plan: Plan) -> Path:
    """The triton package of an environment of ours."""
    for root in (*plan.overlays, site_packages):
        if (root / TRITON).is_file():
            return root / "triton"
    raise HarnessError(
        plan.origin, "brings no triton package", "give a distribution that brings one"
    )


def _env(environment: Environment, root: Path, interpreter: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in environment.keep if name in os.environ}
    name = hashlib.sha256(str(interpreter).encode()).hexdigest()[:16]
    return {**kept, **environment.set, HASHES_VARIABLE: str(root / "hashes" / f"{name}.json")}


def _announced(descriptors: Sequence[Descriptor], site_packages: Path) -> dict[str, str]:
    """The variable for plugins whose distributions, in early releases, do not set it."""
    found = []
    for descriptor in descriptors:
        library = site_packages / descriptor.library
        for each in distributions(name=descriptor.distribution, path=[str(site_packages)]):
            announces = any(file.suffix == ".pth" for file in each.files or ())
            if not announces and VARIABLE in descriptor.loads and library.is_file():
                found.append(str(library))
    return {VARIABLE: os.pathsep.join(found)} if found else {}


def _probe(role: str, interpreter: Path) -> tuple[Path, Path]:
    """site-packages and the triton package of an environment that is not ours."""
    thing = f"toolchain {role} ({interpreter})"
    try:
        process = subprocess.run(
            [interpreter, "-I", "-B", "-c", _PROBE],
            capture_output=True,
            text=True,
            timeout=PROBE_TIMEOUT,
            check=True,
        )
        purelib, places = json.loads(process.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise HarnessError(
            thing, f"does not work as a Python interpreter: {error}", "give one that does"
        ) from error
    if not places:
        raise HarnessError(thing, "has no triton package", "install one there")
    return Path(purelib), Path(places[0])


def _make(folder: Path, plan: Plan, role: Role, progress: Progress) -> None:
    """Make the environment in ``folder``, unless another process has done so meanwhile."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _lock(folder, lambda: progress(f"{role.name}: another process is making it")):
            if (folder / "bin" / "python").exists():
                return
            for stale in [folder, *folder.parent.glob(f".{folder.name}-*")]:
                rmtree(stale, ignore_errors=True)  # a killed predecessor's, or without a base
            with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as at:
                made = Path(at) / "environment"
                _install(made, plan, role, progress)
                made.rename(folder)
    except OSError as error:
        raise HarnessError(
            f"toolchain {role.name}: folder {folder}",
            f"cannot be made: {error.strerror or error}",
            _WRITABLE,
        ) from error


@contextlib.contextmanager
def _lock(folder: Path, waiting: Callable[[], None]) -> Iterator[None]:
    lock = filelock.FileLock(f"{folder}.lock")
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        waiting()
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _install(made: Path, plan: Plan, role: Role, progress: Progress) -> None:
    names = " and ".join(requirement.split()[0] for requirement in plan.requirements)
    progress(f"{role.name}: installing {names or plan.origin} (up to 1 GB, once)")
    run_uv(
        role,
        made.parent,
        "venv",
        "--relocatable",
        "--python",
        role.python or sys.executable,
        str(made),
    )
    site_packages = _site_packages(made)
    if plan.requirements:
        requirements = made / "requirements.txt"
        requirements.write_text("\n".join(plan.requirements) + "\n")
        command = ["pip", "install", "--python", str(made / "bin" / "python"), "--no-deps"]
        command += ["--no-build", "--link-mode", "copy", "--compile-bytecode"]
        command += ["--require-hashes"] if plan.hashed else []
        run_uv(role, made.parent, *command, "-r", str(requirements))
    damaged = differences([site_packages])
    if damaged:
        raise HarnessError(
            f"toolchain {role.name}: {names}",
            f"uv's cache is damaged: {damaged[0]}",
            "clear it with `uv cache clean`",
        )
    _package(site_packages, plan)
    for number, overlay in enumerate(plan.overlays):
        line = f"import site; site.addsitedir({str(overlay)!r})\n"
        (site_packages / f"tlx_equiv_overlay_{number}.pth").write_text(line)


def run_uv(role: Role, at: Path, *arguments: str, given: str = "") -> str:
    """Run uv in the folder ``at``, away from the working directory's own uv settings.

    ``given`` is its standard input. Returns what it printed; raises HarnessError if it fails.
    """
    command = [uv.find_uv_bin(), "--quiet", *arguments]
    # Bytecode that is checked against the source's hash, so that no edit is ever overlooked.
    env = {**os.environ, "PYC_INVALIDATION_MODE": "CHECKED_HASH"}
    process = subprocess.run(
        command, input=given, capture_output=True, text=True, env=env, cwd=at, check=False
    )
    if process.returncode:
        words = " ".join(process.stderr.split())
        raise HarnessError(f"toolchain {role.name}", f"uv: {words}", _way_out(words, role))
    return process.stdout


def _way_out(words: str, role: Role) -> str:
    """What to do about a failure that uv reports in ``words``."""
    lower = words.lower()
    if "hash mismatch" in lower:
        return f"the index serves other files than {role.lock} pins: use a trusted index"
    if any(sign in lower for sign in ("no space left", "read-only", "permission denied")):
        return _WRITABLE
    if any(sign in lower for sign in ("network", "connect", "dns", "timed out", "offline")):
        return (
            "connect to a package index (UV_DEFAULT_INDEX) once, or give an environment that"
            f" exists with {role.name}=/path/to/venv"
        )
    return f"correct the override or {role.lock}, or give {role.name}=/path/to/venv"
