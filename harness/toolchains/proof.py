"""What a toolchain measurably is, and why a run with it would be void."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import msgspec

from harness.errors import HarnessError
from harness.model import PluginProof, ToolchainIdentity
from harness.toolchains.descriptor import Descriptor
from harness.toolchains.environment import Toolchain
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
            thing, f"importing triton ended with {_status(process.returncode)}: {words}", way_out
        )
    measured = {"role": toolchain.role, **json.loads(process.stdout)}
    return msgspec.convert(measured, ToolchainIdentity)


def _status(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"status {code}"


def proof_problems(measured: ToolchainIdentity, toolchain: Toolchain) -> list[str]:
    """Why a run with this toolchain would be void; empty when it is what its role says:
    its plugins proven to be loaded dynamically, TLX compiled in only where that is declared.
    """
    proofs = {proof.plugin: proof for proof in measured.plugins}
    problems = []
    builtin = (toolchain.package / BUILTIN_TLX).is_dir()
    if builtin and not toolchain.builtin_tlx:
        problems.append("its triton has TLX compiled in: it is a fork")
    if toolchain.builtin_tlx and not builtin:
        problems.append("its triton has no TLX compiled in: it is not the fork")
    for descriptor in toolchain.descriptors:
        problems += _problems(descriptor, proofs[descriptor.name], measured)
    problems += [
        f"{proof.library} is loaded, which is no part of this role"
        for proof in measured.plugins
        if not proof.plugin
    ]
    return [f"{measured.role}: {problem}" for problem in problems]


def _problems(descriptor: Descriptor, proof: PluginProof, measured: ToolchainIdentity) -> list[str]:
    name = f"plugin {descriptor.name}"
    problems = _of_library(descriptor, proof, measured) if descriptor.library else []
    if descriptor.hook and not proof.hook_joined:
        problems.append(f"{name}: its stage hook {Path(descriptor.hook).name} has not joined Triton's")
    return problems


def _of_library(
    descriptor: Descriptor, proof: PluginProof, measured: ToolchainIdentity
) -> list[str]:
    name = f"plugin {descriptor.name} ({descriptor.library})"
    if not proof.sha256:
        return [f"{name} is not installed"]
    if proof.mapped_before_import:
        return [f"{name} is mapped before triton is imported: not loaded dynamically by it"]
    if not proof.mapped_after_import:
        return [f"{name} is not loaded by importing triton"]
    if proof.api_version != descriptor.api_version:
        return [f"{name} has API version {proof.api_version}, not {descriptor.api_version}"]
    problems = []
    wanted = {descriptor.built_for_triton, _release(measured.triton_version)} - {""}
    if wanted != {_release(proof.built_for_triton)}:
        problems.append(
            f"{name} is built for Triton {proof.built_for_triton}, not {' and '.join(wanted)}"
        )
    if not (proof.passes or proof.ops or proof.dialects):
        problems.append(f"{name} registers no pass, no op and no dialect")
    if proof.missing:
        problems.append(f"{name} does not register {', '.join(proof.missing)}")
    if proof.module_missing:
        problems.append(f"{name} does not bring the module {descriptor.module}")
    if proof.ops_without_result and descriptor.module:
        problems.append(
            f"{len(proof.ops_without_result)} of the {len(proof.ops)} ops of {name} return nothing"
            f" on Triton {measured.triton_version}"
        )
    return problems


def _release(version: str) -> str:
    """A Triton version up to its local part, which is how Triton compares them."""
    return version.partition("+")[0]


def verify(toolchain: Toolchain) -> list[str]:
    """Installed files that are not what their distributions' RECORDs say, in words."""
    return differences([toolchain.site_packages, *toolchain.overlays])
