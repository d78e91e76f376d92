"""Plugins laid over a toolchain: how a library that no distribution announces reaches Triton."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from harness.errors import HarnessError
from harness.toolchains.descriptor import VARIABLE, Descriptor
from harness.toolchains.environment import Toolchain


def overlaid(toolchain: Toolchain, descriptors: Sequence[Descriptor]) -> Toolchain:
    """``toolchain`` with more plugins, called after them: ``upstream+null``.

    Raises HarnessError for a plugin that is there already, or that only its own distribution
    can install.
    """
    for descriptor in descriptors:
        toolchain = _with(toolchain, descriptor)
    return toolchain


def library_path(toolchain: Toolchain, descriptor: Descriptor) -> Path:
    """Where the plugin's library is, or should be."""
    places = [toolchain.package.parent, *toolchain.overlays, toolchain.site_packages]
    paths = [place / descriptor.library for place in places]  # an absolute one is itself
    return next((path for path in paths if path.is_file()), paths[-1])


def _with(toolchain: Toolchain, descriptor: Descriptor) -> Toolchain:
    thing = f"plugin {descriptor.name} on {toolchain.role}"
    if descriptor.name in [d.name for d in toolchain.descriptors]:
        raise HarnessError(thing, "is loaded there already", "name each plugin once")
    library = descriptor.library.replace("{triton}", toolchain.release)
    descriptor = msgspec.structs.replace(descriptor, library=library)
    env = toolchain.env
    if library and not descriptor.distribution and VARIABLE in descriptor.loads:
        paths = [env[VARIABLE]] if VARIABLE in env else []
        paths.append(str(library_path(toolchain, descriptor)))
        env = {**env, VARIABLE: os.pathsep.join(paths)}
    elif descriptor.distribution and not library_path(toolchain, descriptor).is_file():
        raise HarnessError(
            thing,
            f"its distribution {descriptor.distribution} is not installed there",
            "use a role that has it, or add it:"
            f" --toolchain {toolchain.role}=/path/to/venv/with/{descriptor.distribution}",
        )
    return msgspec.structs.replace(
        toolchain,
        role=f"{toolchain.role}+{descriptor.name}",
        descriptors=(*toolchain.descriptors, descriptor),
        env=env,
    )
