"""Listings: the SASS of cubins, kept in the store."""

from __future__ import annotations

from collections.abc import Iterable

from harness.errors import HarnessError
from harness.model import Artifact, Compilation
from harness.store import Store, digest
from harness.toolchains import Toolchain, tools


class Listings:
    """SASS by the nvdisasm of ``toolchain``; several steps of one case ask for the same."""

    def __init__(self, toolchain: Toolchain, store: Store) -> None:
        self._toolchain = toolchain
        self._store = store

    def __call__(self, cubin: bytes) -> str:
        """The SASS of a cubin; raises HarnessError if it is none."""
        key = digest(cubin)
        text = self._store.read(self._store.load("sass", key, Artifact))
        if text is None:
            text = tools(self._toolchain).disassemble([cubin])[0].encode()
            self._store.save("sass", key, self._store.put(text))
        return text.decode()

    def prepare(self, pairs: Iterable[dict[str, Compilation]]) -> None:
        """Make the listings of all cubins that differ in one go: nvdisasm is slow to start."""
        wanted: dict[str, bytes] = {}
        for pair in pairs:
            found = {side.artifacts.get("cubin") for side in pair.values()}
            for cubin in found if len(found) > 1 else ():
                if cubin and self._store.load("sass", cubin.sha256, Artifact) is None:
                    wanted[cubin.sha256] = self._store.read(cubin) or b""
        if wanted:
            try:
                texts = tools(self._toolchain).disassemble(list(wanted.values()))
            except HarnessError:
                return  # one cubin is damaged: its own case will say so
            for sha, text in zip(wanted, texts, strict=True):
                self._store.save("sass", sha, self._store.put(text.encode()))
