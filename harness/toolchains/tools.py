"""The binary tools that a toolchain's wheel ships."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from harness.errors import HarnessError
from harness.toolchains.disassembly import disassemble
from harness.toolchains.environment import Toolchain


class Tools(msgspec.Struct, frozen=True):
    """Where the tools of a toolchain lie."""

    ptxas: Path
    ptxas_blackwell: Path
    nvdisasm: Path
    cuobjdump: Path
    filecheck: Path

    def disassemble(self, cubins: Sequence[bytes]) -> list[str]:
        """The SASS of each cubin; see ``harness.toolchains.disassembly``."""
        return disassemble(self.nvdisasm, cubins)


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
