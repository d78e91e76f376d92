"""Print IR that was just verified without verifying it again.

MLIR verifies whatever it prints, which takes more than half of the time that printing a TTGIR
module takes, and a pass manager has verified the module before it comes to be printed. MLIR's
own option ``mlir-print-assume-verified`` turns that off; no binding of Triton sets it, so it is
set as ``mlir-opt`` sets it, by two functions that every build of MLIR has. Upstream exports
them, the fork keeps them to itself, but the symbol tables of both say where they are. A stripped
build has no such table: there IR is printed as before, and slower.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from typing import Any

REGISTER = "_ZN4mlir27registerAsmPrinterCLOptionsEv"
PARSE = "LLVMParseCommandLineOptions"
OPTION = b"-mlir-print-assume-verified"

_functions: tuple[int, int] | None = None


def locate(libtriton: Any) -> bool:
    """Find the two functions in the loaded ``libtriton``, once per process; False if its file
    does not name them."""
    global _functions
    entry = "PyInit_libtriton"
    found = symbols(libtriton.__file__, (entry, REGISTER, PARSE))
    if len(found) == 3:
        function = getattr(ctypes.CDLL(libtriton.__file__), entry)
        loaded = ctypes.cast(function, ctypes.c_void_p).value or 0
        _functions = (
            loaded - found[entry] + found[REGISTER],
            loaded - found[entry] + found[PARSE],
        )
    return _functions is not None


def assume_verified() -> None:
    """From now on, in this process, print IR as valid; only call where all that is printed is.

    An invalid module would otherwise be printed in MLIR's generic form.
    """
    if _functions is None:
        return
    register, parse = _functions
    ctypes.CFUNCTYPE(None)(register)()
    arguments = (ctypes.c_char_p * 2)(b"worker", OPTION)
    types = (ctypes.c_int, ctypes.POINTER(ctypes.c_char_p), ctypes.c_char_p)
    ctypes.CFUNCTYPE(None, *types)(parse)(len(arguments), arguments, None)


def symbols(path: str, names: tuple[str, ...]) -> dict[str, int]:
    """Name -> value of those ``names`` that the symbol table (not the dynamic one) of the ELF
    file at ``path`` defines; none if it is no 64-bit little-endian ELF file."""
    found: dict[str, int] = {}
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
        if data[:6] != b"\x7fELF\x02\x01":
            return found
        (start,) = struct.unpack_from("<Q", data, 0x28)
        size, count = struct.unpack_from("<HH", data, 0x3A)
        sections = [struct.unpack_from("<IIQQQQII", data, start + i * size) for i in range(count)]
        for _, kind, _, _, offset, length, link, _ in sections:
            if kind == 2:  # SHT_SYMTAB
                strings, end = sections[link][4], sections[link][4] + sections[link][5]
                table = data[offset : offset + length]
                for name in names:
                    at = data.find(b"\0" + name.encode() + b"\0", strings, end) + 1
                    if at and (value := _value(table, at - strings)):
                        found[name] = value
    return found


def _value(table: bytes, name: int) -> int:
    """The value of the symbol in ``table`` whose name is at offset ``name``; 0 if undefined."""
    at, wanted = -1, struct.pack("<I", name)
    while (at := table.find(wanted, at + 1)) >= 0:
        if at % 24 == 0:  # sizeof(Elf64_Sym)
            return int(struct.unpack_from("<Q", table, at + 8)[0])
    return 0
