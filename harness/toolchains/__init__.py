"""Toolchains: what is declared, how an environment is made, what it measurably is.

``ensure`` makes or finds a toolchain; ``identify`` measures it in its own interpreter, and
``proof_problems`` says why a run with it would be void.
"""

from harness.toolchains.borrow import borrowed
from harness.toolchains.controls import Controls, controls
from harness.toolchains.declaration import Declaration, Lane, Role, declared
from harness.toolchains.descriptor import Descriptor, find_descriptor, known_descriptors
from harness.toolchains.environment import Toolchain, cache_root, ensure
from harness.toolchains.finding import Finding
from harness.toolchains.overlay import overlaid
from harness.toolchains.pins import Newest, newest
from harness.toolchains.preflight import inherited, preflight
from harness.toolchains.proof import identify, proof_findings, proof_problems, verify
from harness.toolchains.tools import Tools, tools

__all__ = [
    "Controls",
    "Declaration",
    "Descriptor",
    "Finding",
    "Lane",
    "Newest",
    "Role",
    "Toolchain",
    "Tools",
    "borrowed",
    "cache_root",
    "controls",
    "declared",
    "ensure",
    "find_descriptor",
    "identify",
    "inherited",
    "known_descriptors",
    "newest",
    "overlaid",
    "preflight",
    "proof_findings",
    "proof_problems",
    "tools",
    "verify",
]
