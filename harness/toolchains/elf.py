"""What a plugin's library needs of libtriton, read from both files without loading either."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerSymSection
from elftools.elf.hash import GNUHashSection
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

from harness.errors import HarnessError
from harness.record import Record

ENTRY = "tritonGetPluginInfo"
_UNVERSIONED = ("VER_NDX_LOCAL", "VER_NDX_GLOBAL")


class Missing(Record, frozen=True):
    """Symbols that a library needs and cannot get: at once, when it is loaded, or only when it
    first calls them (functions are bound lazily)."""

    at_once: tuple[str, ...]
    when_called: tuple[str, ...]


def missing_symbols(library: Path, libtriton: Path) -> Missing:
    """The symbols that ``library`` needs and ``libtriton`` does not export.

    Symbols with a version belong to system libraries, those of Python to the interpreter.
    Raises HarnessError if either file is no ELF library.
    """
    with library.open("rb") as file, libtriton.open("rb") as other:
        elf = _elf(library, file)
        exported = _elf(libtriton, other).get_section_by_name(".gnu.hash")
        assert isinstance(exported, GNUHashSection), libtriton
        names = {number: name for number, name in _needed(elf) if not exported.get_symbol(name)}
        eager = _bound_at_once(elf)
    return Missing(
        tuple(sorted(name for number, name in names.items() if number in eager)),
        tuple(sorted(name for number, name in names.items() if number not in eager)),
    )


def exports(library: Path, symbol: str) -> bool:
    """Whether ``library`` defines ``symbol``; raises HarnessError if it is no ELF library."""
    with library.open("rb") as file:
        names = _dynamic(_elf(library, file)).get_symbol_by_name(symbol) or []
        return any(found.entry["st_shndx"] != "SHN_UNDEF" for found in names)


def _bound_at_once(elf: ELFFile) -> set[int]:
    """The numbers of the symbols that are looked up while the library is loaded."""
    return {
        relocation["r_info_sym"]
        for section in elf.iter_sections()
        if isinstance(section, RelocationSection) and section.name != ".rela.plt"
        for relocation in section.iter_relocations()
    }


def _needed(elf: ELFFile) -> Iterator[tuple[int, str]]:
    """The symbols that another library must define, by number."""
    section = elf.get_section_by_name(".gnu.version")
    versions = section if isinstance(section, GNUVerSymSection) else None
    for number, symbol in enumerate(_dynamic(elf).iter_symbols()):
        if symbol.entry["st_shndx"] != "SHN_UNDEF" or not symbol.name:
            continue
        if symbol.entry["st_info"]["bind"] == "STB_WEAK" or symbol.name.startswith(("Py", "_Py")):
            continue
        if versions and versions.get_symbol(number).entry["ndx"] not in _UNVERSIONED:
            continue
        yield number, symbol.name


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
