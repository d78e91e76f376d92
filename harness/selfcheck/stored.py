"""Differences planted in what the harness keeps: objects, manifests and IR texts of a store."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import zstandard

from harness.model import Compilation
from harness.selfcheck.table import Finding
from harness.store import Store, digest

GROUP = "evidence"
Damage = Callable[[Path, random.Random], None]


def _one_byte(path: Path, choice: random.Random) -> None:
    data = bytearray(path.read_bytes())
    data[choice.randrange(len(data))] ^= 1 << choice.randrange(8)
    path.write_bytes(data)


def _cut(path: Path, choice: random.Random) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: choice.randrange(len(data))])


def _gone(path: Path, choice: random.Random) -> None:
    path.unlink()


def _other_contents(path: Path, choice: random.Random) -> None:
    """Sound in itself, but not what the name says."""
    path.write_bytes(zstandard.compress(zstandard.decompress(path.read_bytes()) + b" "))


DAMAGES: dict[str, Damage] = {
    "altered": _one_byte,
    "cut off": _cut,
    "gone": _gone,
    "other contents": _other_contents,
}


def plant_in_store(
    pairs: Sequence[tuple[Compilation, Compilation]], source: Store, folder: Path
) -> Iterator[Finding]:
    """Damage copies, kept in a store in ``folder``, of what ``source`` keeps of both sides of a
    few cases. What is damaged must be absent, so that it is made again."""
    store = Store(folder)
    for pair in pairs:
        for side, other in (pair, pair[::-1]):
            yield from _objects(side, source, store)
            yield from _manifests(side, other, source, store)
            yield from _snapshots(side, source, store)


def _restore(side: Compilation, source: Store, store: Store) -> None:
    for artifact in side.artifacts.values():
        store.put(source.read(artifact) or b"")
    store.save("compile", side.key, side)


def _objects(side: Compilation, source: Store, store: Store) -> Iterator[Finding]:
    for stage, artifact in sorted(side.artifacts.items()):
        for name, damage in DAMAGES.items():
            _restore(side, source, store)
            path = store.root / "objects" / artifact.sha256[:2] / artifact.sha256[2:]
            damage(path, random.Random(f"{side.case} {side.role} {stage} {name}"))
            whole = store.load_compilation(side.key)
            yield _finding(
                f"stored artifact {name}",
                f"{side.case} {side.role} {stage}",
                caught=store.get(artifact.sha256) is None and whole is None,
                located=not path.exists(),
            )


def _manifests(
    side: Compilation, other: Compilation, source: Store, store: Store
) -> Iterator[Finding]:
    _restore(other, source, store)
    path = store.root / "manifests" / "compile" / f"{side.key}.json"
    stage = sorted(side.artifacts.keys() & other.artifacts.keys())[0]
    foreign = {**side.artifacts, stage: other.artifacts[stage]}

    def altered(path: Path, choice: random.Random) -> None:
        """One digit of one artifact's hash."""
        text = path.read_bytes()
        sha = choice.choice(sorted(side.artifacts.items()))[1].sha256.encode()
        digit = b"0" if sha[:1] != b"0" else b"1"
        path.write_bytes(text.replace(sha, digit + sha[1:]))

    def another(path: Path, choice: random.Random) -> None:
        """The whole record of the other side."""
        path.write_bytes((path.parent / f"{other.key}.json").read_bytes())

    def pointing(path: Path, choice: random.Random) -> None:
        """The other side's artifact in the place of this one's: both are sound."""
        text = path.read_bytes()
        old, new = side.artifacts[stage].sha256, foreign[stage].sha256
        path.write_bytes(text.replace(old.encode(), new.encode()))

    damages: dict[str, Damage] = {
        "altered": altered,
        "cut off": _cut,
        "gone": _gone,
        "of another compilation": another,
        "pointing to the other side": pointing,
    }
    for name, damage in damages.items():
        _restore(side, source, store)
        damage(path, random.Random(f"{side.case} {side.role} {name}"))
        found = store.load_compilation(side.key)
        yield _finding(
            f"stored record {name}",
            f"{side.case} {side.role}",
            caught=found is None,
            located=found is None,
        )


def _snapshots(side: Compilation, source: Store, store: Store) -> Iterator[Finding]:
    text = source.read(side.artifacts["ttir"]) or b""
    sha = digest(text)

    def other_text(path: Path, choice: random.Random) -> None:
        """Sound in itself, but not what its hash says."""
        store.keep_snapshots(side.key, [(sha, text + b" ")])

    for name, damage in {**DAMAGES, "other contents": other_text}.items():
        store.keep_snapshots(side.key, [(sha, text)])
        path = store.snapshots_path(side.key)
        damage(path, random.Random(f"{side.case} {side.role} {name}"))
        yield _finding(
            f"IR text of a pass {name}",
            f"{side.case} {side.role}",
            caught=store.snapshots(side.key)(sha) is None,
            located=not path.exists(),
        )


def _finding(kind: str, subject: str, *, caught: bool, located: bool) -> Finding:
    return Finding(GROUP, kind, subject, kind, caught=caught, located=located)
