"""Toolchain environments: made once with uv, then found again.

An environment is made under a temporary name, checked against its RECORDs and renamed, so
that whatever has its final name is complete; a file lock lets one process make it and the
others wait. Files are copied, never linked, out of uv's cache: editing a toolchain cannot
reach another one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from shutil import rmtree

import filelock
import msgspec
import uv

from harness.errors import HarnessError
from harness.toolchains.declaration import Declaration, Descriptor, Environment, Role, declared
from harness.toolchains.override import TRITON, Plan, planned
from harness.toolchains.record import differences
from harness.worker.identity import HASHES_VARIABLE

Progress = Callable[[str], None]

CACHE_VARIABLE = "TLX_EQUIV_CACHE"
PROBE_TIMEOUT = 60.0
_WRITABLE = f"free some space, or name a writable folder with {CACHE_VARIABLE}=DIR"
_PROBE = """
import importlib.util, json, sysconfig
spec = importlib.util.find_spec("triton")
places = list(spec.submodule_search_locations or []) if spec else []
print(json.dumps([sysconfig.get_path("purelib"), places]))
"""


class Toolchain(msgspec.Struct, frozen=True):
    """An environment that is ready for use.

    ``package`` is the folder of its ``triton`` package; ``overlay`` a folder laid over the
    environment; ``env`` the whole environment of its processes; ``descriptors`` the plugins
    it must load; ``origin`` says where it comes from.
    """

    role: str
    origin: str
    interpreter: Path
    site_packages: Path
    package: Path
    env: dict[str, str]
    descriptors: tuple[Descriptor, ...] = ()
    overlay: Path | None = None


def ensure(
    role: str,
    override: str | None = None,
    cache: Path | None = None,
    progress: Progress | None = None,
    declaration: Declaration | None = None,
) -> Toolchain:
    """The toolchain for ``role``, its environment made if it does not exist yet.

    ``override`` replaces the pins (see ``harness.toolchains.override``); ``cache`` is the
    folder for environments (default: ``$TLX_EQUIV_CACHE``, else the user's cache folder).
    ``progress`` hears in words what takes long. Raises HarnessError if it cannot be had.
    """
    found, plan, folder = _look(role, override, cache, declaration)
    if found is not None:
        return found
    _make(folder, plan, (declaration or declared()).role(role), progress or (lambda words: None))
    found, _, _ = _look(role, override, cache, declaration)
    if found is None:
        raise HarnessError(
            f"toolchain {role} ({plan.origin})",
            "what was installed brings no triton package",
            "give a distribution that does",
        )
    return found


def find(
    role: str,
    override: str | None = None,
    cache: Path | None = None,
    declaration: Declaration | None = None,
) -> Toolchain | None:
    """Like ``ensure``, but None where the environment would have to be made."""
    return _look(role, override, cache, declaration)[0]


def _look(
    name: str, override: str | None, cache: Path | None, declaration: Declaration | None
) -> tuple[Toolchain | None, Plan, Path]:
    """The toolchain if it exists, its plan, and its environment's folder."""
    declaration = declaration or declared()
    role = declaration.role(name)
    plan = planned(role, override)
    root = _cache_root(cache)
    python = role.python or f"{sys.version_info.major}.{sys.version_info.minor}"
    folder = root / "toolchains" / f"{name}-{plan.digest(python)}"
    if plan.interpreter is not None:
        interpreter = plan.interpreter
        site_packages, package = _probe(name, interpreter)
    else:
        interpreter = folder / "bin" / "python"
        if not interpreter.exists():  # never made, or its base interpreter is gone
            return None, plan, folder
        site_packages = next(folder.glob("lib/python*/site-packages"))
        roots = [plan.overlay or site_packages, site_packages]
        package = next((r / "triton" for r in roots if (r / TRITON).is_file()), Path())
        if package == Path():
            return None, plan, folder
    toolchain = Toolchain(
        role=name,
        origin=plan.origin,
        interpreter=interpreter,
        site_packages=site_packages,
        package=package,
        env=_env(declaration.environment, root, interpreter),
        descriptors=plan.descriptors,
        overlay=plan.overlay,
    )
    return toolchain, plan, folder


def _cache_root(cache: Path | None) -> Path:
    if cache is not None:
        return cache.expanduser().absolute()
    if os.environ.get(CACHE_VARIABLE):
        return Path(os.environ[CACHE_VARIABLE]).expanduser().absolute()
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "tlx-equiv"


def _env(environment: Environment, root: Path, interpreter: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in environment.keep if name in os.environ}
    name = str(interpreter).strip("/").replace("/", "-")
    return {**kept, **environment.set, HASHES_VARIABLE: str(root / "hashes" / f"{name}.json")}


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
        lock = filelock.FileLock(f"{folder}.lock")
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            progress(f"{role.name}: waiting for another process to make {folder}")
            lock.acquire()
        with lock:
            lock.release()  # ``with`` has counted a second acquisition
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


def _install(made: Path, plan: Plan, role: Role, progress: Progress) -> None:
    names = " and ".join(requirement.split()[0] for requirement in plan.requirements)
    progress(f"{role.name}: installing {names} (up to 1 GB, once)")
    _uv(role, made, "venv", "--relocatable", "--python", role.python or sys.executable, str(made))
    site_packages = next(made.glob("lib/python*/site-packages"))
    requirements = made / "requirements.txt"
    requirements.write_text("\n".join(plan.requirements) + "\n")
    command = ["pip", "install", "--python", str(made / "bin" / "python"), "--no-deps"]
    command += ["--no-build", "--link-mode", "copy", "--compile-bytecode"]
    command += ["--require-hashes"] if plan.hashed else []
    if plan.requirements:
        _uv(role, made, *command, "-r", str(requirements))
    damaged = differences([site_packages])
    if damaged:
        raise HarnessError(
            f"toolchain {role.name}: {names}",
            f"uv's cache is damaged: {damaged[0]}",
            "clear it with `uv cache clean`",
        )
    if plan.overlay is not None:
        line = f"import site; site.addsitedir({str(plan.overlay)!r})\n"
        (site_packages / "tlx_equiv_overlay.pth").write_text(line)


def _uv(role: Role, made: Path, *arguments: str) -> None:
    """Run uv, away from the working directory's own uv settings."""
    command = [uv.find_uv_bin(), "--no-progress", *arguments]
    # Bytecode that is checked against the source's hash, so that no edit is ever overlooked.
    env = {**os.environ, "PYC_INVALIDATION_MODE": "CHECKED_HASH"}
    process = subprocess.run(
        command, capture_output=True, text=True, env=env, cwd=made.parent, check=False
    )
    if process.returncode:
        words = " ".join(process.stderr.split())
        raise HarnessError(f"toolchain {role.name}", f"uv: {words}", _way_out(words, role))


def _way_out(words: str, role: Role) -> str:
    """What to do about a failure that uv reports in ``words``."""
    lower = words.lower()
    if "hash mismatch" in lower:
        return f"the index serves other files than {role.lock} pins: use a trusted index"
    if any(sign in lower for sign in ("no space left", "read-only", "permission denied")):
        return _WRITABLE
    if any(sign in lower for sign in ("network", "connect", "dns", "timed out", "offline")):
        return (
            f"connect to a package index (UV_INDEX_URL) once, or give an environment that exists"
            f" with {role.name}=/path/to/venv"
        )
    return f"correct {role.lock}, or give an environment with {role.name}=/path/to/venv"
