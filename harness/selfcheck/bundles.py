"""Differences planted in bundles, on their way to a GPU host: they must be refused."""

from __future__ import annotations

import random
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

from harness.errors import HarnessError
from harness.parity import bundle
from harness.parity.bundle import Bundle
from harness.parity.manifest import (
    VERSION,
    BundledCase,
    LaunchMetadata,
    Manifest,
    Problem,
    Side,
    ToolchainStamp,
)
from harness.selfcheck.material import Sample
from harness.selfcheck.table import Finding
from harness.store import digest

GROUP = "evidence"
Damage = Callable[[bytes, list[tarfile.TarInfo], random.Random], bytes]


def plant_in_bundles(samples: list[Sample], folder: Path, each: int = 6) -> Iterator[Finding]:
    """Make a bundle of the cubins of ``samples`` in ``folder``, and damage copies of it."""
    whole = folder / "whole.tar"
    _make(whole, [sample for sample in samples if sample.stage == "cubin"])
    with Bundle(whole):
        pass  # it is sound, or nothing below would tell
    data = whole.read_bytes()
    with tarfile.open(whole) as tar:
        members = tar.getmembers()
    for kind, damage in DAMAGES.items():
        for number in range(each):
            path = folder / "damaged.tar"
            path.write_bytes(damage(data, members, random.Random(f"{kind} {number}")))
            answer = _refusal(path)
            yield Finding(
                GROUP,
                f"bundle {kind}",
                "bundle",
                f"{kind}, the {number + 1}. time",
                caught=bool(answer),
                located=str(path) in answer,
                answer=answer or "opened",
            )


def _make(path: Path, cubins: list[Sample]) -> None:
    objects = {digest(sample.data): sample.data for sample in cubins}
    problem = Problem((1, 1, 1), {})
    cases: dict[str, list[Side]] = {}
    for sample in cubins:
        side = Side(sample.role, digest(sample.data), LaunchMetadata("kernel", 4, 0))
        cases.setdefault(sample.case, []).append(side)
    manifest = Manifest(
        VERSION,
        {sample.role: ToolchainStamp("", ()) for sample in cubins},
        tuple(
            BundledCase(case, case.rpartition("@")[2], problem, problem, tuple(sides), ())
            for case, sides in cases.items()
        ),
        {sha: len(data) for sha, data in objects.items()},
    )
    bundle.write(path, manifest, objects)


def _refusal(path: Path) -> str:
    """Why a bundle is refused; empty if it is opened."""
    try:
        with Bundle(path):
            return ""
    except HarnessError as error:
        return str(error)


def _flip(data: bytes, at: int, choice: random.Random) -> bytes:
    changed = bytearray(data)
    changed[at] ^= 1 << choice.randrange(8)
    return bytes(changed)


def _object(data: bytes, members: list[tarfile.TarInfo], choice: random.Random) -> bytes:
    member = choice.choice(members[2:])
    return _flip(data, member.offset_data + choice.randrange(member.size), choice)


def _manifest(data: bytes, members: list[tarfile.TarInfo], choice: random.Random) -> bytes:
    return _flip(data, members[0].offset_data + choice.randrange(members[0].size), choice)


def _header(data: bytes, members: list[tarfile.TarInfo], choice: random.Random) -> bytes:
    """The name or the size in a member's header."""
    member = choice.choice(members)
    return _flip(data, member.offset + choice.choice([*range(8), *range(124, 135)]), choice)


def _cut(data: bytes, members: list[tarfile.TarInfo], choice: random.Random) -> bytes:
    last = members[-1]
    return data[: choice.randrange(last.offset_data + last.size)]


def _exchanged(data: bytes, members: list[tarfile.TarInfo], choice: random.Random) -> bytes:
    """Two objects under each other's names, all else in order."""
    one, two = choice.sample(members[2:], 2)
    heads = [bytearray(data[each.offset : each.offset_data]) for each in (one, two)]
    names = [bytes(head[:100]) for head in heads]
    changed = bytearray(data)
    for head, name, member in zip(heads, names[::-1], (one, two), strict=True):
        head[:100] = name
        head[148:156] = b" " * 8
        head[148:156] = f"{sum(head):06o}\0 ".encode()
        changed[member.offset : member.offset_data] = head
    return bytes(changed)


def _left_out(data: bytes, members: list[tarfile.TarInfo], choice: random.Random) -> bytes:
    at = choice.randrange(2, len(members))
    end = members[at + 1].offset if at + 1 < len(members) else len(data)
    return data[: members[at].offset] + data[end:]


DAMAGES: dict[str, Damage] = {
    "with an altered binary": _object,
    "with an altered manifest": _manifest,
    "with an altered header": _header,
    "cut off": _cut,
    "with two binaries exchanged": _exchanged,
    "with a binary left out": _left_out,
}
