"""Toolchains: what is declared, how an environment is made, what it measurably is.

``ensure`` makes or finds a toolchain; ``identify`` measures it in its own interpreter, and
``proof_problems`` says why a run with it would be void.
"""

from harness.toolchains.controls import Controls, controls
from harness.toolchains.declaration import Declaration, Descriptor, Lane, Role, declared
from harness.toolchains.environment import Toolchain, cache_root, ensure
from harness.toolchains.pins import Newest, newest
from harness.toolchains.proof import identify, proof_problems, verify
from harness.toolchains.tools import Tools, tools

__all__ = [
    "Controls",
    "Declaration",
    "Descriptor",
    "Lane",
    "Newest",
    "Role",
    "Toolchain",
    "Tools",
    "cache_root",
    "controls",
    "declared",
    "ensure",
    "identify",
    "newest",
    "proof_problems",
    "tools",
    "verify",
]
