"""The base of every record."""

from __future__ import annotations

import msgspec


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Immutable, strict about unknown fields, and the same after a trip through JSON."""
