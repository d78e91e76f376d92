"""Resources: what a binary needs of the GPU, read from the binary itself."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection, SymbolTableSection

from harness.errors import HarnessError
from harness.explain.instructions import PADDING, mix, spills
from harness.explain.occupancy import occupancy
from harness.explanation import Resources
from harness.model import Target

_REGISTERS, _FRAME, _REQUIRED_THREADS, _BARRIERS = 0x2F, 0x11, 0x10, 0x4C
"""EIATTR_REGCOUNT, EIATTR_FRAME_SIZE, EIATTR_REQNTID, EIATTR_NUM_BARRIERS of `.nv.info`."""

_ATTRIBUTE = struct.Struct("<BBH")
_WITH_PAYLOAD = 4
_SHARED_RESERVED_IN_ELF = 1024
_BARRIER_SHIFT, _BARRIER_MASK = 20, 0x7F


def resources(
    target: Target, binary: bytes, disassembly: str | None, metadata: Mapping[str, Any]
) -> Resources:
    """What ``binary`` (a cubin or hsaco) needs; ``metadata`` is the launch metadata.

    ``disassembly`` is nvdisasm's text of a cubin or the ``amdgcn`` stage of an hsaco; without
    it instructions and spills are not known. Raises HarnessError if the binary cannot be read.
    """
    read = _cubin if target.backend == "cuda" else _hsaco
    try:
        needs = read(ELFFile(io.BytesIO(binary)), metadata)
        barriers = needs.pop("barriers", 0)
        fraction, limiter = occupancy(
            target, needs["registers"], needs["shared"], needs["threads"], barriers
        )
    except (ELFError, struct.error, LookupError, ValueError, ArithmeticError) as error:
        raise HarnessError(
            f"the {target} binary of {metadata.get('name', 'a kernel')}",
            f"its resources cannot be read: {error or type(error).__name__}",
            "compile it again; if it stays so, the binary format has changed",
        ) from error
    if disassembly:
        needs |= _instructions("sass" if target.backend == "cuda" else "amdgcn", disassembly, needs)
    return Resources(**needs, occupancy=fraction, limiter=limiter)


def _instructions(stage: str, text: str, needs: Mapping[str, Any]) -> dict[str, Any]:
    found = mix(stage, text)
    total = sum(n for sort, n in found.items() if sort != PADDING)
    stores, loads = spills(stage, text)
    return {
        "instructions": total,
        "mix": dict(sorted(found.items())),
        "spill_stores": needs.get("spill_stores", stores),
        "spill_loads": needs.get("spill_loads", loads),
    }


# --- NVIDIA -------------------------------------------------------------------------------


def _cubin(elf: ELFFile, metadata: Mapping[str, Any]) -> dict[str, Any]:
    sections = {section.name: section for section in elf.iter_sections()}
    table = sections[".symtab"]
    if not isinstance(table, SymbolTableSection):
        raise LookupError("its .symtab is no symbol table")
    symbols = [symbol.name for symbol in table.iter_symbols()]
    name = _entry(metadata, sections)
    of_kernel: dict[int, int] = {}
    for attribute, payload in _attributes(sections[".nv.info"].data()):
        if len(payload) == 8:
            symbol, value = struct.unpack("<II", payload)
            if symbols[symbol] == name:
                of_kernel[attribute] = value
    threads = 32 * int(metadata["num_warps"])
    # Up to 9.0 the flags of the code section hold the number of barriers.
    barriers = sections[f".text.{name}"]["sh_flags"] >> _BARRIER_SHIFT & _BARRIER_MASK
    for attribute, payload in _attributes(sections[f".nv.info.{name}"].data()):
        if attribute == _REQUIRED_THREADS:
            x, y, z = struct.unpack("<III", payload)
            threads = x * y * z
        elif attribute == _BARRIERS:
            barriers = payload[0]
    static = sections.get(f".nv.shared.{name}")
    size = static["sh_size"] if static else 0
    # From 9.0 on the section begins with what the driver reserves for each block.
    if ".nv.shared.reserved.0" in sections and size:
        size -= _SHARED_RESERVED_IN_ELF
    return {
        "registers": of_kernel[_REGISTERS],
        "stack": of_kernel[_FRAME],
        "shared": size + int(metadata["shared"]),
        "threads": threads,
        "barriers": barriers,
    }


def _entry(metadata: Mapping[str, Any], sections: Mapping[str, Any]) -> str:
    name = str(metadata["name"])
    if f".text.{name}" not in sections:
        raise LookupError(f"it has no kernel {name}")
    return name


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The records of an `.nv.info` section: the attribute, and its value or payload."""
    at = 0
    while at < len(data):
        kind, attribute, size = _ATTRIBUTE.unpack_from(data, at)
        value = data[at + 2 : at + _ATTRIBUTE.size]
        at += _ATTRIBUTE.size
        if kind == _WITH_PAYLOAD:
            value = data[at : at + size]
            at += size
        yield attribute, value


# --- AMD ----------------------------------------------------------------------------------


def _hsaco(elf: ELFFile, metadata: Mapping[str, Any]) -> dict[str, Any]:
    name = str(metadata["name"])
    kernel = next((each for each in _kernels(elf) if each[".name"] == name), None)
    if kernel is None:
        raise LookupError(f"it has no kernel {name}")
    # On gfx90a and later `.vgpr_count` includes the accumulation registers of `.agpr_count`.
    needs = {
        "registers": kernel[".vgpr_count"],
        "stack": kernel[".private_segment_fixed_size"],
        "shared": kernel[".group_segment_fixed_size"] + int(metadata["shared"]),
        "threads": kernel[".max_flat_workgroup_size"],
    }
    if not kernel[".vgpr_spill_count"] and not kernel[".sgpr_spill_count"]:
        needs |= {"spill_stores": 0, "spill_loads": 0}
    return needs


def _kernels(elf: ELFFile) -> list[dict[str, Any]]:
    for section in elf.iter_sections():
        if not isinstance(section, NoteSection):
            continue
        for note in section.iter_notes():
            if note["n_name"] == "AMDGPU":
                record = msgspec.msgpack.decode(note["n_descdata"], type=dict[str, Any])
                kernels: list[dict[str, Any]] = record["amdhsa.kernels"]
                return kernels
    raise LookupError("it has no AMDGPU metadata")
