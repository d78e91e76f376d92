"""What a toolchain measurably is, and why a run with it would be void."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec

from harness.errors import HarnessError
from harness.model import PluginProof, ToolchainIdentity
from harness.toolchains.descriptor import Descriptor
from harness.toolchains.environment import Toolchain
from harness.toolchains.finding import Finding
from harness.toolchains.installed import differences

ROOT = Path(__file__).resolve().parents[2]
IDENTIFY_TIMEOUT = 300.0  # seconds
BUILTIN_TLX = "language/extra/tlx"  # within the triton package, where TLX is compiled in
# The harness's folder is on the path only while the worker's modules are imported.
_IDENTIFY = """
import sys
sys.path.insert(0, sys.argv[1])
from harness.worker.identity import main
sys.path.pop(0)
main()
"""


def identify(toolchain: Toolchain) -> ToolchainIdentity:
    """Measure the toolchain in a process of its own; nothing is taken from an earlier time.

    Raises HarnessError if its ``import triton`` fails.
    """
    thing = f"toolchain {toolchain.role} ({toolchain.interpreter})"
    way_out = (
        "run `tlx-equiv toolchains verify`; an environment of this tool's own is made anew once"
        " its folder is deleted"
    )
    request = json.dumps({"descriptors": [d.plain() for d in toolchain.descriptors]})
    try:
        process = subprocess.run(
            [toolchain.interpreter, "-I", "-B", "-c", _IDENTIFY, ROOT],
            input=request,
            capture_output=True,
            text=True,
            errors="replace",
            env=toolchain.env,
            timeout=IDENTIFY_TIMEOUT,
            check=False,
        )
    except OSError as error:
        raise HarnessError(thing, f"cannot be started: {error.strerror}", way_out) from error
    except subprocess.TimeoutExpired as error:
        cause = f"importing triton took over {IDENTIFY_TIMEOUT:.0f} s"
        raise HarnessError(thing, cause, way_out) from error
    if process.returncode:
        words = " ".join(process.stderr.split()[-60:]) or "no output"
        raise HarnessError(
            thing,
            f"importing triton and its plugins ended with {status(process.returncode)}: {words}",
            f"correct the plugin, if it is named there; else {way_out}",
        )
    measured = {"role": toolchain.role, **json.loads(process.stdout)}
    return msgspec.convert(measured, ToolchainIdentity)


def status(code: int) -> str:
    """How a process ended, in words."""
    return signal.Signals(-code).name if code < 0 else f"status {code}"


def proof_problems(measured: ToolchainIdentity, toolchain: Toolchain) -> list[str]:
    """Why a run with this toolchain would be void; empty when it is what its role says:
    its plugins proven to be loaded dynamically, TLX compiled in only where that is declared.
    """
    return [f"{measured.role}: {f.cause}" for f in proof_findings(measured, toolchain)]


def proof_findings(measured: ToolchainIdentity, toolchain: Toolchain) -> list[Finding]:
    """The same, each with the way out."""
    return [
        Finding("proof", f"toolchain {measured.role}", cause, way_out)
        for cause, way_out in _failures(measured, toolchain)
    ]


def _failures(measured: ToolchainIdentity, toolchain: Toolchain) -> Iterator[tuple[str, str]]:
    role = measured.role.partition("+")[0]
    builtin = (toolchain.package / BUILTIN_TLX).is_dir()
    if builtin and not toolchain.builtin_tlx:
        yield "its triton has TLX compiled in: it is a fork", f"give upstream Triton for {role}"
    if toolchain.builtin_tlx and not builtin:
        yield "its triton has no TLX compiled in: it is not the fork", f"give a fork for {role}"
    proofs = {proof.plugin: proof for proof in measured.plugins}
    for descriptor in toolchain.descriptors:
        proof = proofs[descriptor.name]
        if descriptor.library:
            yield from _of_library(descriptor, proof, measured)
        if descriptor.hook and not proof.hook_joined:
            yield (
                f"plugin {descriptor.name}: its stage hook {Path(descriptor.hook).name} has not"
                " joined Triton's",
                "have no plugin after it replace Triton's stage hook: chain what is there",
            )
    for proof in measured.plugins:
        if not proof.plugin:
            yield (
                f"{proof.library} is loaded, which is no part of this role",
                "find what announces it (a .pth file, sitecustomize), or name it with --plugin",
            )


def _of_library(
    descriptor: Descriptor, proof: PluginProof, measured: ToolchainIdentity
) -> Iterator[tuple[str, str]]:
    name = f"plugin {descriptor.name} ({descriptor.library})"
    reinstall = f"install {descriptor.distribution or descriptor.name} there whole"
    other = "use another release of the plugin, or correct its descriptor"
    if not proof.sha256:
        yield f"{name} is not installed", reinstall
    elif proof.mapped_before_import:
        yield (
            f"{name} is mapped before triton is imported: not loaded dynamically by it",
            "find what loads it at interpreter start (sitecustomize, LD_PRELOAD, a .pth file)",
        )
    elif not proof.mapped_after_import:
        yield (
            f"{name} is not loaded by importing triton",
            f"{reinstall}, its .pth file and all, and unset what keeps it from announcing itself",
        )
    elif proof.api_version != descriptor.api_version:
        yield f"{name} has API version {proof.api_version}, not {descriptor.api_version}", other
    else:
        wanted = {descriptor.built_for_triton, _release(measured.triton_version)} - {""}
        if wanted != {_release(proof.built_for_triton)}:
            yield (
                f"{name} is built for Triton {proof.built_for_triton}, not {' and '.join(wanted)}",
                other,
            )
        if not (proof.passes or proof.ops or proof.dialects):
            yield f"{name} registers no pass, no op and no dialect", other
        if proof.missing:
            yield f"{name} does not register {', '.join(proof.missing)}", other
        if proof.module_missing:
            yield f"{name} does not bring the module {descriptor.module}", reinstall
        if proof.ops_without_result and descriptor.module:
            yield (
                f"{len(proof.ops_without_result)} of the {len(proof.ops)} ops of {name} return"
                f" nothing to Python on Triton {measured.triton_version}"
                f" (such as {proof.ops_without_result[0]}), so kernels get None for a value",
                "use Triton 3.8 or later: the binding of 3.7 loses the results of plugins' ops",
            )


def _release(version: str) -> str:
    """A Triton version up to its local part, which is how Triton compares them."""
    return version.partition("+")[0]


def verify(toolchain: Toolchain) -> list[str]:
    """Installed files that are not what their distributions' RECORDs say, in words."""
    return differences([toolchain.site_packages, *toolchain.overlays])
