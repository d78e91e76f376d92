"""What a parity run and its worker processes say to each other."""

from __future__ import annotations

import msgspec

from harness.parity.result import Device, ParityResult

LOCATING = "locate the first differing element"


class Request(msgspec.Struct):
    """Measure one case, launching these roles."""

    case: str
    roles: tuple[str, ...]


class Message(msgspec.Struct, omit_defaults=True):
    """What a worker says.

    ``kind``: ``waiting`` (for the GPU's lock), ``ready`` (with ``device``), ``refused`` (no
    usable GPU), ``doing`` (``side`` and ``what``), ``skipped``, ``fault`` (the worker leaves),
    ``result``. A result that is not ``final`` is followed by a better one, if all goes well.
    """

    kind: str
    side: str = ""
    what: str = ""
    device: Device | None = None
    result: ParityResult | None = None
    final: bool = True
