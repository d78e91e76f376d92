"""Rules for launch metadata (stage ``metadata``, JSON)."""

from __future__ import annotations

import json
import re
from typing import Any

from harness.compare.rules import rule
from harness.compare.text import NOTHING, CannotParse, Format, Text


@rule("metadata.formatting", "metadata")
def formatting(text: Text) -> Text:
    """White space and the order of keys: one line for each top-level key is compared."""
    try:
        record = json.loads(str(text), object_pairs_hook=_unique)
    except ValueError as error:
        raise CannotParse(f"not JSON: {error}") from error
    if not isinstance(record, dict):
        raise CannotParse("not a JSON object")
    return Text.of("\n".join(f"{key} = {_write(record[key])}" for key in sorted(record)))


def _write(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key occurs twice")
    return dict(pairs)


_NO_CLUSTER = re.compile(r"cluster_dims = (?:null|\[1, 1, 1\])")


@rule("metadata.cluster-dims", "metadata")
def cluster_dims(text: Text) -> Text:
    """`cluster_dims` of `[1, 1, 1]` (the fork) and of `null` (upstream).

    Without clusters every CTA is a cluster of its own, with the same registers for its
    identity. Any other size stays a difference.
    """
    return text.keep(lambda line: not _NO_CLUSTER.fullmatch(line))


def _regions(lines: tuple[str, ...]) -> list[str]:
    return ["metadata"] * len(lines)


FORMAT = Format(("metadata",), Text.decode, NOTHING, _regions)
