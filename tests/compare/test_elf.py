"""Binaries: every byte is compared, and only the named sections are ignored."""

import io
import struct
from collections.abc import Callable

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import compare
from harness.compare import elfview
from harness.model import Verdict

Pair = Callable[[str, str], tuple[bytes, bytes]]

SAMPLES = [
    ("ring_copy@cuda-90", "cubin"),
    ("bit_view@cuda-90", "cubin"),
    ("ring_copy@hip-gfx950", "hsaco"),
    ("bit_view@hip-gfx942", "hsaco"),
]
IGNORED = {
    ".comment": "elf.comment",
    ".debug_": "elf.debug-info",
    ".nv_debug_": "elf.debug-info",
    ".rela.debug_": "elf.debug-info",
    ".rela.nv_debug_": "elf.debug-info",
}


def sections(data: bytes) -> dict[str, tuple[int, int]]:
    """Name -> offset and size in the file of every section that has contents."""
    return {
        section.name: (section["sh_offset"], section["sh_size"])
        for section in ELFFile(io.BytesIO(data)).iter_sections()
        if section["sh_type"] not in ("SHT_NOBITS", "SHT_NULL") and section["sh_size"]
    }


def flipped(data: bytes, offset: int, bit: int) -> bytes:
    changed = bytearray(data)
    changed[offset] ^= 1 << bit
    return bytes(changed)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(SAMPLES), st.data())
def test_one_bit_of_a_section_that_is_not_ignored_is_a_difference(
    pair: Pair, sample: tuple[str, str], draw: st.DataObject
) -> None:
    """Code, `.nv.info`, constants, descriptors, notes, relocations, and what is unknown."""
    data = pair(*sample)[0]
    compared = {
        name: place
        for name, place in sections(data).items()
        if not name.startswith(tuple(IGNORED)) and name not in (".strtab", ".shstrtab", ".symtab")
    }
    assert {name.split(".")[1] for name in compared} >= {"text"}
    name = draw.draw(st.sampled_from(sorted(compared)))
    start, size = compared[name]
    other = flipped(
        data, draw.draw(st.integers(start, start + size - 1)), draw.draw(st.integers(0, 7))
    )
    for left, right in ((data, other), (other, data)):
        result = compare.compare(sample[1], left, right)
        assert result.verdict is Verdict.DIFFERENT, name
        assert not result.rules
        assert result.hunks_total or result.note


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(SAMPLES), st.data())
def test_one_bit_of_an_ignored_section_needs_exactly_its_rule(
    pair: Pair, sample: tuple[str, str], draw: st.DataObject
) -> None:
    data = pair(*sample)[0]
    ignored = {
        name: place for name, place in sections(data).items() if name.startswith(tuple(IGNORED))
    }
    name = draw.draw(st.sampled_from(sorted(ignored)))
    start, size = ignored[name]
    offset = draw.draw(st.integers(start, start + size - 1))
    result = compare.compare(sample[1], data, flipped(data, offset, 0))
    rule = next(rule for prefix, rule in IGNORED.items() if name.startswith(prefix))
    if ".rela" in name:  # an index of a symbol may be made to point beyond the table
        assert result.note or set(result.rules) == {rule, "elf.layout"}
    else:
        assert (result.verdict, result.rules) == (Verdict.EQUIVALENT, (rule,))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(SAMPLES), st.data())
def test_every_byte_of_the_file_is_in_the_description(
    pair: Pair, sample: tuple[str, str], draw: st.DataObject
) -> None:
    """Without rules nothing is ignored: headers, padding and string tables included."""
    data = pair(*sample)[0]
    other = flipped(data, draw.draw(st.integers(0, len(data) - 1)), draw.draw(st.integers(0, 7)))
    try:
        described = compare.normalise(sample[1], other, [])
    except compare.CannotParse:
        return
    assert described.lines != compare.normalise(sample[1], data, []).lines


def renamed_section(data: bytes, old: bytes, new: bytes) -> bytes:
    assert len(old) == len(new)
    assert data.count(old + b"\0") >= 1
    return data.replace(old + b"\0", new + b"\0")


def test_an_unknown_section_is_compared(pair: Pair) -> None:
    """`.comment` under another name is no comment."""
    sides = [
        renamed_section(side, b".comment", b".unknown")
        for side in pair("bit_view@hip-gfx942", "hsaco")
    ]
    result = compare.compare("hsaco", *sides)
    assert result.verdict is Verdict.DIFFERENT
    assert {hunk.region for hunk in result.hunks} == {".unknown"}


def test_a_debug_section_that_is_loaded_is_compared(pair: Pair) -> None:
    data = bytearray(pair("bit_view@cuda-90", "cubin")[0])
    headers = struct.unpack_from("<Q", data, 0x28)[0]
    index = next(
        i
        for i, section in enumerate(ELFFile(io.BytesIO(data)).iter_sections())
        if section.name == ".debug_line"
    )
    struct.pack_into("<Q", data, headers + 64 * index + 8, 0x2)  # sh_flags: SHF_ALLOC
    offset, _ = sections(bytes(data))[".debug_line"]
    result = compare.compare("cubin", bytes(data), flipped(bytes(data), offset + 20, 0))
    assert result.verdict is Verdict.DIFFERENT
    assert {hunk.region for hunk in result.hunks} == {".debug_line"}


def test_register_and_flag_changes_in_headers_are_differences(pair: Pair) -> None:
    """`e_flags` (the architecture), a section's flags and a symbol's size."""
    data = pair("ring_copy@cuda-90", "cubin")[0]
    assert compare.compare("cubin", data, flipped(data, 0x30, 3)).verdict is Verdict.DIFFERENT
    headers = struct.unpack_from("<Q", data, 0x28)[0]
    names = [section.name for section in ELFFile(io.BytesIO(data)).iter_sections()]
    text = headers + 64 * names.index(".text.ring_copy")
    for offset in (text + 8, text + 44 + 3, text + 48):  # flags, registers (sh_info), alignment
        assert compare.compare("cubin", data, flipped(data, offset, 2)).verdict is Verdict.DIFFERENT
    start, _ = sections(data)[".symtab"]
    symbols = ELFFile(io.BytesIO(data)).get_section_by_name(".symtab").iter_symbols()
    compared = [i for i, symbol in enumerate(symbols) if "debug" not in symbol.name]
    assert len(compared) > 5
    for entry in (start + 24 * i for i in compared):
        for field in (4, 5, 8, 16):  # type, other, value, size
            result = compare.compare("cubin", data, flipped(data, entry + field, 4))
            assert result.verdict is Verdict.DIFFERENT


def test_padding_needs_the_layout_rule(pair: Pair) -> None:
    data = pair("ring_copy@cuda-90", "cubin")[0]
    start = sections(data)[".strtab"][0] + sections(data)[".strtab"][1]
    assert data[start] == 0
    assert start < sections(data)[".symtab"][0]
    result = compare.compare("cubin", data, flipped(data, start, 0))
    assert (result.verdict, result.rules) == (Verdict.EQUIVALENT, ("elf.layout",))


def test_the_fingerprint_names_the_section_and_both_contents(pair: Pair) -> None:
    data = pair("ring_copy@cuda-90", "cubin")[0]
    start = sections(data)[".text.ring_copy"][0]
    info = sections(data)[".nv.info"][0]
    others = [flipped(data, start, 0), flipped(data, start, 1), flipped(data, info + 20, 0)]
    prints = [compare.compare("cubin", data, other).fingerprint for other in others]
    prints.append(compare.compare("cubin", others[0], data).fingerprint)
    assert len(set(prints)) == 4
    debug = sections(data)[".debug_line"][0]
    again = compare.compare("cubin", data, flipped(others[0], debug + 30, 0))
    assert again.fingerprint == prints[0], "what is ignored does not change the fingerprint"


def test_attributes_and_metadata_are_shown_as_records(pair: Pair) -> None:
    cubin = pair("ring_copy@cuda-90", "cubin")[0]
    rows = elfview.rows(cubin, ".nv.info.ring_copy").lines
    assert all(row.startswith("attribute 0x") for row in rows)
    assert any("attribute 0x17 format 4" in row for row in rows), "EIATTR_KPARAM_INFO"
    hsaco = pair("ring_copy@hip-gfx950", "hsaco")[0]
    assert "/amdhsa.kernels/0/.vgpr_count = 9" in elfview.rows(hsaco, ".note").lines


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:100],
        lambda data: data[: len(data) // 2],
        lambda data: b"\0" + data[1:],
        lambda data: b"not an ELF file",
        lambda data: data[:4] + b"\1" + data[5:],
    ],
)
def test_what_cannot_be_parsed_is_not_equal(pair: Pair, damage: Callable[[bytes], bytes]) -> None:
    data = pair("ring_copy@cuda-90", "cubin")[0]
    result = compare.compare("cubin", data, damage(data))
    assert result.verdict is Verdict.DIFFERENT
    assert "candidate" in result.note
    assert len(result.fingerprint) == 16


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_compared_without_a_crash(pair: Pair, tail: bytes) -> None:
    data = pair("bit_view@cuda-90", "cubin")[0]
    for other in (tail, data[:64] + tail, data + tail):
        result = compare.compare("cubin", data, other)
        assert (result.verdict is Verdict.IDENTICAL) == (other == data)
