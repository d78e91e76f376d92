"""SASS of many cubins from one run of nvdisasm.

nvdisasm takes a quarter of a second to start and milliseconds for a kernel, and reads one file.
So the code sections of several cubins are put into one ELF file, each function under a name of
its own, and the listing is taken apart again: it says of code what separate listings say.
"""

from __future__ import annotations

import io
import re
import struct
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from harness.errors import HarnessError

_HEADER = 64
_TABLES = struct.Struct("<QQ")  # e_phoff and e_shoff, at 0x20
_SIZES = struct.Struct("<HHHHHH")  # from e_ehsize on, at 0x34
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_PROGBITS, _SYMTAB, _STRTAB = 1, 2, 3
_NAMES, _STRINGS, _SYMBOLS, _CODE = 1, 2, 3, 4  # section indices of the merged file
_SECTION_SYMBOL = 3  # STT_SECTION
_TITLE = re.compile(r"^//-+ (\.text\.cubin(\d+)\.\S+) +-+$", re.MULTILINE)


class _Code(msgspec.Struct, frozen=True):
    """A code section: its function, contents and flags, the upper byte of ``sh_info`` (the
    number of registers), and its symbols (name and the fields of an ELF symbol after it)."""

    function: str
    data: bytes
    flags: int
    registers: int
    symbols: tuple[tuple[str, int, int, int, int], ...]


def disassemble(nvdisasm: Path, cubins: Sequence[bytes]) -> list[str]:
    """The SASS of each cubin, with encodings; code sections only.

    Raises HarnessError if one of them is no cubin, or nvdisasm fails.
    """
    found = [""] * len(cubins)
    kinds: dict[bytes, list[int]] = {}
    for number, cubin in enumerate(cubins):
        # One file has one e_ident, type, machine, version and set of flags.
        kinds.setdefault(cubin[:24] + cubin[0x30:0x34], []).append(number)
    for numbers in kinds.values():
        merged = _merge([cubins[number] for number in numbers])
        preamble, *parts = _TITLE.split(_run(nvdisasm, merged))
        for title, place, listing in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
            text = f"//--------------------- {title} --------------------------{listing}"
            number = numbers[int(place)]
            found[number] = (found[number] or preamble) + text.replace(f"cubin{place}.", "")
    return found


def _run(nvdisasm: Path, cubin: bytes) -> str:
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        process = subprocess.run(
            # Data flow analysis takes a third of the time and adds nothing to a listing.
            [nvdisasm, "--print-code", "--print-instruction-encoding", "--no-dataflow", file.name],
            capture_output=True,
            text=True,
            check=False,
        )
    if process.returncode:
        raise _refused(cubin, f"nvdisasm: {process.stderr.strip() or process.returncode}")
    return process.stdout


def _refused(cubin: bytes, cause: str) -> HarnessError:
    return HarnessError(
        f"cubin of {len(cubin)} bytes",
        cause,
        "compile the case again; the artifact is no valid cubin",
    )


def _code(cubin: bytes) -> Iterator[_Code]:
    elf = ELFFile(io.BytesIO(cubin))
    sections = list(elf.iter_sections())
    table = next(section for section in sections if section["sh_type"] == "SHT_SYMTAB")
    strings = sections[table["sh_link"]]
    symbols = [
        (strings.get_string(at), info, other, where, value, size)
        for at, info, other, where, value, size in _SYMBOL.iter_unpack(table.data())
        if info & 0xF != _SECTION_SYMBOL
    ]
    for index, section in enumerate(sections):
        if section.name.startswith(".text."):
            yield _Code(
                section.name.removeprefix(".text."),
                section.data(),
                section["sh_flags"],
                section["sh_info"] >> 24,
                tuple((name, i, o, v, s) for name, i, o, where, v, s in symbols if where == index),
            )


def _merge(cubins: Sequence[bytes]) -> bytes:
    """One ELF file with the code of all ``cubins``; names begin with ``cubin<number>.``."""
    strings, symbols = bytearray(1), bytearray(_SYMBOL.size)
    sections = [("", 0, 0, b"", 0, 0, 0, 0)]  # name, type, flags, data, link, info, align, entry
    sections += [("", 0, 0, b"", 0, 0, 0, 0)] * (_CODE - 1)  # tables, filled in below
    for number, cubin in enumerate(cubins):
        try:
            found = list(_code(cubin))
        except (ELFError, LookupError, StopIteration, struct.error, ValueError) as error:
            raise _refused(cubin, f"cannot be read: {error or type(error).__name__}") from error
        for code in found:
            section = f".text.cubin{number}.{code.function}"
            own = 0  # the function's symbol, to which the section refers
            for name, *fields in [(section, _SECTION_SYMBOL, 0, 0, 0), *code.symbols]:
                if name == code.function:
                    own = len(symbols) // _SYMBOL.size
                info, other, value, size = fields
                symbols += _SYMBOL.pack(len(strings), info, other, len(sections), value, size)
                strings += f"{name if name == section else f'cubin{number}.{name}'}\0".encode()
            described = code.registers << 24 | own
            sections.append(
                (section, _PROGBITS, code.flags, code.data, _SYMBOLS, described, 128, 0)
            )
    sections[_STRINGS] = (".strtab", _STRTAB, 0, bytes(strings), 0, 0, 1, 0)
    local = len(symbols) // _SYMBOL.size
    sections[_SYMBOLS] = (".symtab", _SYMTAB, 0, bytes(symbols), _STRINGS, local, 8, _SYMBOL.size)
    names = ("\0" + ".shstrtab\0" + "".join(f"{each[0]}\0" for each in sections[2:])).encode()
    sections[_NAMES] = (".shstrtab", _STRTAB, 0, names, 0, 0, 1, 0)
    return _written(cubins[0][:_HEADER], sections, names)


def _written(
    header: bytes, sections: Sequence[tuple[str, int, int, bytes, int, int, int, int]], names: bytes
) -> bytes:
    out = bytearray(header)
    table = bytearray()
    for name, kind, flags, data, link, info, align, entry in sections:
        out += bytes(-len(out) % (align or 1))
        at = names.index(f"{name}\0".encode()) if name else 0
        place = len(out) if kind else 0
        table += _SECTION.pack(at, kind, flags, 0, place, len(data), link, info, align, entry)
        out += data
    out += bytes(-len(out) % 8)
    _TABLES.pack_into(out, 0x20, 0, len(out))
    _SIZES.pack_into(out, 0x34, _HEADER, 0, 0, _SECTION.size, len(sections), _NAMES)
    return bytes(out + table)
