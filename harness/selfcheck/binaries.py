"""Differences planted in binaries: one bit of a section, two instructions that change places."""

from __future__ import annotations

import io
import random
import re
from collections.abc import Iterable, Iterator

from elftools.elf.elffile import ELFFile

from harness import compare, explain
from harness.model import Verdict
from harness.record import Record
from harness.selfcheck.artifacts import SIDES, answer, different
from harness.selfcheck.material import Sample
from harness.selfcheck.table import Finding

STAGES = ("cubin", "hsaco")
ROW = {"cubin": 16, "hsaco": 4}  # bytes that hold at most one instruction


class Part(Record, frozen=True):
    """Sections of one purpose, and what a change in them must be called. Of those with a ``rule``
    the GPU executes nothing: the change is benign, and needs exactly that rule."""

    kind: str
    sections: str
    says: str = ""
    rule: str = ""


PARTS = (
    Part("executable code", r"\.text(\..*)?", "executable code"),
    Part("launch metadata", r"\.nv\.info.*|\.note", "launch metadata"),
    Part("constants", r"\.nv\.constant.*|\.rodata|\.data.*", "constants|launch metadata"),
    Part("barriers and waits of code", r"\.nv\.capmerc.*", "executable code"),
    Part("debug information", r"\.debug_.*|\.nv_debug_.*", rule="elf.debug-info"),
    Part("name of the linker", r"\.comment", rule="elf.comment"),
    Part("command line of ptxas", r"\.note\.nv\.tkinfo", rule="elf.tkinfo"),
)


def plant_binaries(samples: Iterable[Sample], each: int = 1) -> Iterator[Finding]:
    """Plant ``each`` changed bits in every section, and one pair of swapped instructions."""
    for sample in samples:
        if sample.stage not in STAGES:
            continue
        for name, (start, size) in _sections(sample.data).items():
            part = next((part for part in PARTS if re.fullmatch(part.sections, name)), None)
            if part is None:
                continue
            choice = random.Random(f"{sample.name} {name}")
            for _ in range(each):
                at, bit = start + choice.randrange(size), choice.randrange(8)
                planted = bytearray(sample.data)
                planted[at] ^= 1 << bit
                what = f"bit {bit} of byte {at - start:#x} of {name}"
                yield _judge(sample, part, name, what, bytes(planted))
            if part.kind == "executable code":
                swap = _swapped(sample, start, size, choice)
                moved = Part("order of instructions", part.sections, part.says)
                yield _judge(sample, moved, name, *swap)


def _judge(sample: Sample, part: Part, section: str, what: str, planted: bytes) -> Finding:
    found = compare.compare(sample.stage, sample.data, planted)
    found = explain.classify_hunks(found, SIDES)
    if part.rule:
        caught = found.raw is Verdict.DIFFERENT
        located = found.rules == (part.rule,)
    else:
        caught = different(found)
        here = [hunk for hunk in found.hunks if hunk.region == section]
        located = any(re.search(part.says, hunk.kind) for hunk in here)
    return Finding(
        group=f"{'benign' if part.rule else 'artifacts'}: {sample.stage}",
        kind=part.kind,
        subject=sample.name,
        what=what,
        caught=caught,
        located=located,
        benign=bool(part.rule),
        flagged=bool(part.rule) and found.verdict is not Verdict.EQUIVALENT,
        answer=answer(found),
    )


def _sections(data: bytes) -> dict[str, tuple[int, int]]:
    """Name -> offset and size, of the sections that have contents."""
    return {
        section.name: (section.header.sh_offset, section.header.sh_size)
        for section in ELFFile(io.BytesIO(data)).iter_sections()
        if section.header.sh_size and section.header.sh_type not in ("SHT_NOBITS", "SHT_NULL")
    }


def _swapped(sample: Sample, start: int, size: int, choice: random.Random) -> tuple[str, bytes]:
    row = ROW[sample.stage]
    data = sample.data
    places = [
        at
        for at in range(start, start + size - 2 * row + 1, row)
        if data[at : at + row] != data[at + row : at + 2 * row]
    ]
    at = choice.choice(places)
    first, second = data[at : at + row], data[at + row : at + 2 * row]
    what = f"{row} bytes at {at - start:#x} and the next {row}"
    return what, data[:at] + second + first + data[at + 2 * row :]
