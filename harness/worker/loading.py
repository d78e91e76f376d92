"""Loading plugins by the functions that Triton 3.9 has in place of a variable."""

from __future__ import annotations

import os
from typing import Any

from harness.worker import plugins


def extend(descriptors: list[dict[str, Any]], libtriton: Any) -> None:
    """Hand each plugin to Triton that may be loaded this way and is not loaded yet.

    Nothing happens on a Triton without these functions. Names that Triton gives a prefix there
    (``add_``, ``create_``) keep it: plugins that want others bind them themselves.
    """
    if not hasattr(getattr(libtriton.passes, "plugin", None), plugins.EXTEND):
        return
    for descriptor in descriptors:
        if descriptor["distribution"] or plugins.EXTEND not in descriptor["loads"]:
            continue  # a distribution's own code does it, when it is imported
        path = plugins.locate(descriptor["library"])
        if path and os.path.realpath(path) not in plugins.mapped():
            libtriton.passes.plugin.extend_with(path)
            libtriton.ir.extend_dialects_with(path)
            libtriton.ir.builder.extend_with(path)
