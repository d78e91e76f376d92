"""ELF binaries (stages ``cubin`` and ``hsaco``): a description by section and symbol, and rules.

The description has one line for the header, for each segment, section, symbol and relocation.
A section's line holds the sha256 of its contents, so a section of a kind unknown here is
compared like any other. Whatever bytes no other line covers are covered by the line `layout`.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import io
import re
import struct
from collections.abc import Iterator

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from harness.compare.rules import rule
from harness.compare.text import NOTHING, CannotParse, Format, Renaming, Text

STAGES = ("cubin", "hsaco")

_SYMBOL = struct.Struct("<IBBHQQ")
_OS_ABI = 7
_EXECUTABLE_FLAG = 0x1
_INFO_IS_SECTION = 0x40
_TYPES = ("NOTYPE", "OBJECT", "FUNC", "SECTION", "FILE")
_BINDINGS = ("LOCAL", "GLOBAL", "WEAK")
_LOADED_FLAG = 0x2
_RELOCATIONS = {"SHT_REL": struct.Struct("<QQ"), "SHT_RELA": struct.Struct("<QQq")}
_INDEXED = ("SHT_STRTAB", "SHT_SYMTAB", *_RELOCATIONS)


@dataclasses.dataclass(frozen=True)
class _Section:
    """A section as its header describes it; ``data`` is empty where it takes no file space."""

    name: str
    type: str
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry_size: int
    data: bytes

    @property
    def place(self) -> tuple[int, int]:
        """Where its contents start and end in the file."""
        return self.offset, self.offset + len(self.data)

    @property
    def loaded(self) -> bool:
        """Does a loader map it?"""
        return bool(self.flags & _LOADED_FLAG)

    @property
    def indexed(self) -> bool:
        """Does it hold names, or offsets and indices into tables of the linker?

        Such a section is described entry by entry, and its bytes belong to the layout.
        """
        return self.type in _INDEXED and not self.loaded


@functools.lru_cache(maxsize=4)
def _sections(data: bytes) -> tuple[_Section, ...]:
    found = []
    elf = _open(data)
    for section in elf.iter_sections():
        head = section.header
        nobits = head.sh_type in ("SHT_NOBITS", "SHT_NULL")
        found.append(
            _Section(
                section.name,
                str(head.sh_type),
                head.sh_flags,
                head.sh_addr,
                head.sh_offset,
                head.sh_size,
                head.sh_link,
                head.sh_info,
                head.sh_addralign,
                head.sh_entsize,
                b"" if nobits else data[head.sh_offset : head.sh_offset + head.sh_size],
            )
        )
        if not nobits and head.sh_offset + head.sh_size > len(data):
            raise CannotParse(f"the section {section.name} ends beyond the file")
    return tuple(found)


def _open(data: bytes) -> ELFFile:
    try:
        elf = ELFFile(io.BytesIO(data))
    except ELFError as error:
        raise CannotParse(f"not an ELF file: {error}") from error
    if elf.elfclass != 64 or not elf.little_endian:
        raise CannotParse("not a 64-bit little-endian ELF file")
    return elf


def section_bytes(data: bytes, name: str) -> bytes:
    """The contents of a section in an ELF file that can be described; empty if it has none."""
    return next((each.data for each in _sections(data) if each.name == name), b"")


def describe(data: bytes) -> Text:
    """The description of an ELF file; raises CannotParse if it is damaged or is none."""
    try:
        sections = _sections(data)
        elf = _open(data)
        cuda = elf.header.e_machine == "EM_CUDA"
        names = _symbol_names(sections)
        lines = [
            _header(elf, data),
            f"layout sha256={_sha(_layout(data, sections))}",
            *_segments(elf, data, sections),
            *(_describe(each, sections, names, cuda) for each in sections[1:]),
            *_symbols(sections),
            *_relocations(sections, names),
        ]
    except (ELFError, struct.error, IndexError, ValueError, OverflowError) as error:
        raise CannotParse(f"a damaged ELF file: {error}") from error
    return Text.of("\n".join(lines))


def _header(elf: ELFFile, data: bytes) -> str:
    head = elf.header
    return (
        f"header machine={head.e_machine} type={head.e_type} version={head.e_version}"
        f" abi={data[_OS_ABI]}.{data[_OS_ABI + 1]}"
        f" flags={head.e_flags:#x} entry={head.e_entry:#x}"
    )


def _layout(data: bytes, sections: tuple[_Section, ...]) -> bytes:
    """All bytes that are not in a section whose contents have a line of their own."""
    return _between(data, 0, len(data), [each.place for each in sections if not each.indexed])


def _between(data: bytes, start: int, end: int, covered: list[tuple[int, int]]) -> bytes:
    """The bytes of ``data[start:end]`` that lie in none of the ``covered`` ranges."""
    rest = []
    for first, last in sorted(covered):
        rest.append(data[start : min(first, end)])
        start = max(start, last)
    return b"".join([*rest, data[start:end]])


def _segments(elf: ELFFile, data: bytes, sections: tuple[_Section, ...]) -> Iterator[str]:
    """What a loader maps: which sections, how, and how many zero bytes after them.

    Sizes in the file depend on padding. Padding is zero in an executable segment, or shown.
    """
    head = elf.header
    tables = [
        (0, head.e_ehsize),
        (head.e_phoff, head.e_phoff + head.e_phnum * head.e_phentsize),
        (head.e_shoff, head.e_shoff + head.e_shnum * head.e_shentsize),
    ]
    for segment in elf.iter_segments():
        part = segment.header
        start, end = part.p_offset, part.p_offset + part.p_filesz
        held = [each for each in sections if each.data and start <= each.offset < end]
        line = (
            f"segment {part.p_type} flags={part.p_flags} address={part.p_vaddr:#x}"
            f" zeros={part.p_memsz - part.p_filesz} align={part.p_align}"
            f" sections={','.join(each.name for each in held)}"
        )
        padding = _between(data, start, end, [*tables, *(each.place for each in held)])
        if part.p_flags & _EXECUTABLE_FLAG and padding.strip(b"\0"):
            line += f" padding={_sha(padding)}"
        yield line


def _describe(
    section: _Section, sections: tuple[_Section, ...], symbols: list[str], cuda: bool
) -> str:
    line = f"section {section.name} type={section.type} flags={section.flags:#x}"
    info = str(section.info)
    if section.flags & _INFO_IS_SECTION or section.type in _RELOCATIONS:
        info = sections[section.info].name
    if section.indexed:
        return f"{line} info={info}" if section.type in _RELOCATIONS else line
    if cuda and section.name.startswith(".text."):
        info = f"{section.info >> 24}:{symbols[section.info & 0xFFFFFF]}"
    return (
        f"{line} address={section.address:#x} size={section.size}"
        f" link={sections[section.link].name} info={info} align={section.align}"
        f" entry={section.entry_size} sha256={_sha(section.data)}"
    )


def _symbol_table(sections: tuple[_Section, ...]) -> tuple[list[tuple[int, ...]], bytes]:
    table = next((each for each in sections if each.type == "SHT_SYMTAB"), None)
    if table is None:
        return [], b""
    return list(_SYMBOL.iter_unpack(table.data)), sections[table.link].data


def _symbol_names(sections: tuple[_Section, ...]) -> list[str]:
    entries, strings = _symbol_table(sections)
    return [strings[name : strings.index(b"\0", name)].decode() for name, *_ in entries]


def _symbols(sections: tuple[_Section, ...]) -> Iterator[str]:
    names = _symbol_names(sections)
    for name, (_, info, other, index, value, size) in zip(
        names, _symbol_table(sections)[0], strict=True
    ):
        where = sections[index].name if index < len(sections) else f"{index:#x}"
        kind, binding = _name(_TYPES, info & 0xF), _name(_BINDINGS, info >> 4)
        yield (
            f"symbol {kind} {binding} other={other:#x} section={where or 'undefined'}"
            f" value={value:#x} size={size} name={name}"
        )


def _relocations(sections: tuple[_Section, ...], symbols: list[str]) -> Iterator[str]:
    for section in sections:
        if section.type in _RELOCATIONS and section.indexed:
            for offset, info, *addend in _RELOCATIONS[section.type].iter_unpack(section.data):
                yield (
                    f"relocation {section.name} offset={offset:#x} type={info & 0xFFFFFFFF}"
                    f" symbol={symbols[info >> 32]} addend={addend}"
                )


def _name(names: tuple[str, ...], index: int) -> str:
    return names[index] if index < len(names) else str(index)


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# --- rules --------------------------------------------------------------------------------


@rule("elf.layout", *STAGES)
def layout(text: Text) -> Text:
    """Offsets of sections, string tables, the order of bytes in the file, and padding.

    They follow from the sizes and names of sections and symbols. What a loader maps (sections,
    addresses, flags, and padding of executable segments that is not zero) is compared apart.
    """
    return text.keep(lambda line: not line.startswith("layout "))


@rule("elf.comment", *STAGES)
def comment(text: Text) -> Text:
    """`.comment`: the linker's name and revision. Only a section that is not loaded is ignored."""
    return text.keep(lambda line: _is_loaded(line) or not line.startswith("section .comment "))


_DEBUG = r"\.(?:nv\.merc\.)?(?:rela?\.)?(?:nv_)?debug_\w+"
_DEBUG_LINE = re.compile(rf"(?:section|relocation) {_DEBUG} |symbol SECTION .* name={_DEBUG}$")


@rule("elf.debug-info", *STAGES)
def debug_info(text: Text) -> Text:
    """`.debug_*`, `.nv_debug_*` (line tables, a copy of the PTX), their relocations and symbols.

    Debuggers and profilers read them. Only sections that are not loaded are ignored.
    """
    return text.keep(lambda line: _is_loaded(line) or not _DEBUG_LINE.match(line))


_FLAGS = re.compile(r"section \S+ type=\S+ flags=(0x[0-9a-f]+)")


def _is_loaded(line: str) -> bool:
    match = _FLAGS.match(line)
    return match is not None and bool(int(match[1], 16) & _LOADED_FLAG)


@rule("elf.tkinfo", *STAGES)
def tkinfo(text: Text) -> Text:
    """`.note.nv.tkinfo`: the name, version and command line of ptxas.

    Only a section that is not loaded is ignored.
    """
    start = "section .note.nv.tkinfo "
    return text.keep(lambda line: _is_loaded(line) or not line.startswith(start))


_LOCAL_FUNCTION = re.compile(r"(symbol FUNC LOCAL .* name=)(.*)")


@rule("elf.private-symbols", *STAGES)
def private_symbols(text: Text) -> Text:
    """The names of local functions, which fork and upstream mangle differently.

    Code is already linked within its section; they are renamed in order of the symbol table.
    """
    names = Renaming(lambda k: f"private.{k}")

    def renamed(line: str) -> str:
        match = _LOCAL_FUNCTION.fullmatch(line)
        return match[1] + names[match[2]] if match else line

    return text.each(renamed)


# --- reading ------------------------------------------------------------------------------

_REGION = re.compile(r"(?:section|relocation) (\S+)")


def _regions(lines: tuple[str, ...]) -> list[str]:
    return [match[1] if (match := _REGION.match(line)) else line.split(" ")[0] for line in lines]


FORMAT = Format(STAGES, describe, NOTHING, _regions)
