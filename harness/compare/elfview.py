"""The contents of ELF sections as rows to look at."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import msgspec

from harness.compare.elf import section_bytes
from harness.compare.text import Text

_NOTE = struct.Struct("<III")
_ATTRIBUTE = struct.Struct("<BBH")
_WITH_PAYLOAD = 4


def rows(data: bytes, name: str) -> Text:
    """Records of `.nv.info*`, keys of AMD's metadata, rows of 16 bytes for other sections.

    The line number is the row, from 1. Records leave headers and padding out.
    """
    body = section_bytes(data, name)
    found = _attributes(body) if name.startswith(".nv.info") else []
    if name == ".note":
        found = _amd_metadata(body)
    return Text.of("\n".join(found)) if found else byte_rows(body)


def byte_rows(body: bytes) -> Text:
    """Rows of 16 bytes (one SASS instruction) in hexadecimal."""
    return Text.of("\n".join(body[i : i + 16].hex(" ") for i in range(0, len(body), 16)))


def _attributes(body: bytes) -> list[str]:
    """EIATTR records: format, attribute, then a value or a size and that many bytes."""
    rows, at = [], 0
    while at + _ATTRIBUTE.size <= len(body):
        kind, attribute, value = _ATTRIBUTE.unpack_from(body, at)
        at += _ATTRIBUTE.size
        row = f"attribute {attribute:#04x} format {kind}:"
        if kind == _WITH_PAYLOAD:
            rows.append(f"{row} {body[at : at + value].hex(' ', 4)}")
            at += value
        else:
            rows.append(f"{row} {value:#x}")
    return rows


def _amd_metadata(body: bytes) -> list[str]:
    if len(body) < _NOTE.size:
        return []
    name_size, size, _ = _NOTE.unpack_from(body)
    start = _NOTE.size + (name_size + 3 & ~3)
    try:
        record = msgspec.msgpack.decode(body[start : start + size])
    except msgspec.DecodeError:
        return []
    return list(_flatten("", record))


def _flatten(path: str, value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key in sorted(value, key=str):
            yield from _flatten(f"{path}/{key}", value[key])
    elif isinstance(value, list):
        for i, each in enumerate(value):
            yield from _flatten(f"{path}/{i}", each)
    else:
        yield f"{path} = {value!r}"
