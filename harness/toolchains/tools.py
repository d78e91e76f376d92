"""The binary tools that a toolchain's wheel ships."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import msgspec

from harness.errors import HarnessError
from harness.toolchains.environment import Toolchain


class Tools(msgspec.Struct, frozen=True):
    """Where the tools of a toolchain lie."""

    ptxas: Path
    ptxas_blackwell: Path
    nvdisasm: Path
    cuobjdump: Path
    filecheck: Path

    def disassemble(self, cubin: bytes) -> str:
        """The SASS of a cubin, code sections only; raises HarnessError if nvdisasm fails."""
        with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
            file.write(cubin)
            file.flush()
            process = subprocess.run(
                [self.nvdisasm, "-c", "-hex", file.name],
                capture_output=True,
                text=True,
                check=False,
            )
        if process.returncode:
            raise HarnessError(
                f"cubin of {len(cubin)} bytes",
                f"nvdisasm: {process.stderr.strip() or process.returncode}",
                "compile the case again; the artifact is no valid cubin",
            )
        return process.stdout


def tools(toolchain: Toolchain) -> Tools:
    """The toolchain's tools; raises HarnessError naming the first that its wheel lacks."""
    nvidia = toolchain.package / "backends" / "nvidia" / "bin"
    found = Tools(
        ptxas=nvidia / "ptxas",
        ptxas_blackwell=nvidia / "ptxas-blackwell",
        nvdisasm=nvidia / "nvdisasm",
        cuobjdump=nvidia / "cuobjdump",
        filecheck=toolchain.package / "FileCheck",
    )
    for path in msgspec.structs.astuple(found):
        if not path.is_file():
            raise HarnessError(
                f"toolchain {toolchain.role} ({toolchain.origin})",
                f"ships no {path.name}: {path} does not exist",
                "use a toolchain installed from a wheel",
            )
    return found
