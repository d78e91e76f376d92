"""What a plugin's library needs of libtriton, read from both files without loading either."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerSymSection
from elftools.elf.hash import GNUHashSection
from elftools.elf.sections import SymbolTableSection

from harness.errors import HarnessError

ENTRY = "tritonGetPluginInfo"
_UNVERSIONED = ("VER_NDX_LOCAL", "VER_NDX_GLOBAL")


def missing_symbols(library: Path, libtriton: Path) -> list[str]:
    """The symbols that ``library`` needs and ``libtriton`` does not export, sorted.

    Symbols with a version belong to system libraries, those of Python to the interpreter.
    Raises HarnessError if either file is no ELF library.
    """
    with library.open("rb") as file, libtriton.open("rb") as other:
        elf = _elf(library, file)
        exported = _elf(libtriton, other).get_section_by_name(".gnu.hash")
        assert isinstance(exported, GNUHashSection), libtriton
        return sorted(n for n in _needed(elf) if exported.get_symbol(n) is None)


def exports(library: Path, symbol: str) -> bool:
    """Whether ``library`` defines ``symbol``; raises HarnessError if it is no ELF library."""
    with library.open("rb") as file:
        names = _dynamic(_elf(library, file)).get_symbol_by_name(symbol) or []
        return any(found.entry["st_shndx"] != "SHN_UNDEF" for found in names)


def _needed(elf: ELFFile) -> Iterator[str]:
    section = elf.get_section_by_name(".gnu.version")
    versions = section if isinstance(section, GNUVerSymSection) else None
    for number, symbol in enumerate(_dynamic(elf).iter_symbols()):
        if symbol.entry["st_shndx"] != "SHN_UNDEF" or not symbol.name:
            continue
        if symbol.entry["st_info"]["bind"] == "STB_WEAK" or symbol.name.startswith(("Py", "_Py")):
            continue
        if versions and versions.get_symbol(number).entry["ndx"] not in _UNVERSIONED:
            continue
        yield symbol.name


def _dynamic(elf: ELFFile) -> SymbolTableSection:
    found = elf.get_section_by_name(".dynsym")
    assert isinstance(found, SymbolTableSection)
    return found


def _elf(path: Path, file: IO[bytes]) -> ELFFile:
    try:
        elf = ELFFile(file)
        if elf.get_section_by_name(".dynsym") is None:
            raise ELFError("it has no dynamic symbols")
    except ELFError as error:
        raise HarnessError(
            f"library {path}",
            f"is no shared library: {error}",
            "build it again, or correct its path",
        ) from error
    return elf
