"""What a toolchain measurably is, and why a run with it would be void."""

from __future__ import annotations

import json
import subprocess

import msgspec

from harness.errors import HarnessError
from harness.model import PluginProof, ToolchainIdentity
from harness.toolchains.declaration import Descriptor
from harness.toolchains.environment import Toolchain
from harness.toolchains.record import differences
from harness.worker import identity

IDENTIFY_TIMEOUT = 300.0


def identify(toolchain: Toolchain) -> ToolchainIdentity:
    """Measure the toolchain in a process of its own; nothing is taken from an earlier time.

    Raises HarnessError if its ``import triton`` fails.
    """
    thing = f"toolchain {toolchain.role} ({toolchain.interpreter})"
    way_out = "run `tlx-equiv toolchains verify`, or use another toolchain"
    request = json.dumps({"descriptors": msgspec.to_builtins(toolchain.descriptors)})
    try:
        process = subprocess.run(
            [toolchain.interpreter, "-I", "-B", identity.__file__],
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
        cause = f"importing triton ended with status {process.returncode}: {words}"
        raise HarnessError(thing, cause, way_out)
    measured = {"role": toolchain.role, **json.loads(process.stdout)}
    return msgspec.convert(measured, ToolchainIdentity)


def proof_problems(measured: ToolchainIdentity, toolchain: Toolchain) -> list[str]:
    """Why a run with this toolchain would be void; empty when its plugins are proven loaded."""
    proofs = {proof.library: proof for proof in measured.plugins}
    problems = []
    for descriptor in toolchain.descriptors:
        proof = proofs.pop(descriptor.library)
        problems += _problems(descriptor, proof, measured.triton_version)
    problems += [f"{library} is loaded, which is no part of this role" for library in proofs]
    return [f"{measured.role}: {problem}" for problem in problems]


def _problems(descriptor: Descriptor, proof: PluginProof, triton_version: str) -> list[str]:
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
    wanted = {descriptor.built_for_triton, _release(triton_version)} - {""}
    if wanted != {_release(proof.built_for_triton)}:
        problems.append(
            f"{name} is built for Triton {proof.built_for_triton}, not {' and '.join(wanted)}"
        )
    if not (proof.passes or proof.ops):
        problems.append(f"{name} registers no pass and no op")
    if proof.missing:
        problems.append(f"{name} lacks {len(proof.missing)}: {', '.join(proof.missing[:5])}, ...")
    return problems


def _release(version: str) -> str:
    """A Triton version up to its local part, which is how Triton compares them."""
    return version.partition("+")[0]


def verify(toolchain: Toolchain) -> list[str]:
    """Installed files that are not what their distributions' RECORDs say, in words."""
    folders = [toolchain.site_packages]
    if toolchain.overlay is not None:
        folders.append(toolchain.overlay)
    return differences(folders)
