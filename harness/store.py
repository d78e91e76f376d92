"""The artifact store: bytes by sha256, and manifests that make a case complete.

Layout: ``objects/ab/cdef...`` holds compressed bytes (Zstandard), ``manifests/<key>.json`` one
compilation each, ``snapshots/<key>`` the IR after each pass of a compilation whose sides
differ (MessagePack: hash -> compressed text). Files are written under a temporary name, flushed
and renamed, the manifest last; so a process killed at any moment leaves nothing half-written
under a final name.
Everything is verified on read: a damaged object counts as absent and is removed, and what
refers to it is made again. A file's modification time is when it was last used.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec
import zstandard

from harness.errors import HarnessError
from harness.model import Artifact, Compilation

_HEX = frozenset("0123456789abcdef")
_R = TypeVar("_R", bound=msgspec.Struct)


def digest(data: bytes) -> str:
    """The sha256 of ``data``, lower-case hex."""
    return hashlib.sha256(data).hexdigest()


class Store:
    """A directory of artifacts and manifests, safe under concurrent processes.

    Raises HarnessError when the directory cannot be written (read-only, disk full).
    """

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        for name in ("objects", "manifests"):
            with self._writing(self.root / name):
                (self.root / name).mkdir(parents=True, exist_ok=True)

    def put(self, data: bytes) -> Artifact:
        """Keep ``data``; returns its hash and size (uncompressed, bytes).

        What lies there under its hash is believed only if it is what would be written.
        """
        sha = digest(data)
        path = self.object_path(sha)
        compressed = zstandard.compress(data, 1)
        if not (_holds(path, compressed) and _used(path)):
            self._write(path, compressed)
        return Artifact(sha, len(data))

    def get(self, sha: str) -> bytes | None:
        """The bytes with this hash, or None if absent or damaged (then it is removed)."""
        path = self.object_path(sha)
        try:
            data = _sound(path.read_bytes(), sha)
        except FileNotFoundError:
            return None
        if data is None:
            path.unlink(missing_ok=True)
        else:
            _used(path)
        return data

    def keep_snapshots(self, key: str, texts: Iterable[tuple[str, bytes]]) -> None:
        """Keep ``texts``, the IR of the compilation ``key`` after its passes, by their hashes."""
        packed = {sha: zstandard.compress(text, 1) for sha, text in texts}
        self._write(self.snapshots_path(key), msgspec.msgpack.encode(packed))

    def has_snapshots(self, key: str) -> bool:
        """Whether the IR texts of the compilation ``key`` are kept."""
        return _used(self.snapshots_path(key))

    def snapshots(self, key: str) -> Callable[[str], bytes | None]:
        """Gives the IR texts of the compilation ``key`` by their hashes; None as for ``get``.

        One text that is damaged costs all of the compilation's: they are made together.
        """
        path = self.snapshots_path(key)
        packed: dict[str, bytes] = {}
        if _used(path):
            try:
                packed = msgspec.msgpack.decode(path.read_bytes(), type=dict[str, bytes])
            except (msgspec.DecodeError, UnicodeDecodeError):
                path.unlink(missing_ok=True)

        def text(sha: str) -> bytes | None:
            data = _sound(packed[sha], sha) if sha in packed else None
            if data is None and sha in packed:
                path.unlink(missing_ok=True)
            return data

        return text

    def drop_snapshots(self, key: str) -> None:
        """Remove the IR texts of the compilation ``key``, if they are kept."""
        self.snapshots_path(key).unlink(missing_ok=True)

    def has(self, sha: str) -> bool:
        """Whether there are bytes under this hash; they are verified when they are read."""
        return self.object_path(sha).exists()

    def whole(self, hashes: Iterable[str]) -> bool:
        """Whether the bytes with these hashes are all there, and sound."""
        return all(self.get(sha) is not None for sha in hashes)

    def read(self, artifact: Artifact | None) -> bytes | None:
        """The artifact's bytes, or None where there is none to read."""
        return None if artifact is None else self.get(artifact.sha256)

    def save(self, kind: str, key: str, record: msgspec.Struct) -> None:
        """Write the manifest ``key`` of a ``kind`` (``compile``, ``cross``, ...), sealed."""
        data = msgspec.json.encode(record)
        self._write(self.manifest_path(kind, key), data + b"\n" + _seal(kind, key, data))

    def load(self, kind: str, key: str, record: type[_R]) -> _R | None:
        """The manifest ``key``, or None if absent, altered or unreadable (then it is removed)."""
        found = self.peek(kind, key, record)
        if found is not None:
            _used(self.manifest_path(kind, key))
        return found

    def peek(self, kind: str, key: str, record: type[_R]) -> _R | None:
        """As ``load``, but it does not count as a use."""
        path = self.manifest_path(kind, key)
        try:
            data, _, seal = path.read_bytes().rpartition(b"\n")
            if seal == _seal(kind, key, data):
                return msgspec.json.decode(data, type=record)
        except FileNotFoundError:
            return None
        except (msgspec.DecodeError, msgspec.ValidationError):
            pass  # a record of an earlier version
        path.unlink(missing_ok=True)
        return None

    def load_compilation(self, key: str) -> Compilation | None:
        """A stored compilation, only if every artifact it names is present and sound."""
        found = self.load("compile", key, Compilation)
        if found is None:
            return None
        wanted = {artifact.sha256 for artifact in found.artifacts.values()}
        return found if self.whole(wanted) else None

    def objects(self) -> Iterator[Path]:
        """Every object file, in no particular order."""
        yield from (self.root / "objects").glob("??/*")

    def manifests(self) -> Iterator[Path]:
        """Every manifest file, in no particular order."""
        yield from (self.root / "manifests").glob("*/*")

    def snapshot_files(self) -> Iterator[Path]:
        """Every file of a compilation's IR texts, in no particular order."""
        yield from (self.root / "snapshots").glob("*")

    @contextlib.contextmanager
    def shared(self) -> Iterator[None]:
        """While results are made: others may do so too, but nothing is removed meanwhile."""
        with self._locked(fcntl.LOCK_SH):
            yield

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """While files are removed: raises HarnessError at once if somebody makes results."""
        try:
            with self._locked(fcntl.LOCK_EX | fcntl.LOCK_NB):
                yield
        except BlockingIOError as error:
            raise HarnessError(
                f"store {self.root}", "is in use by a run", "try again when the run has ended"
            ) from error

    @contextlib.contextmanager
    def _locked(self, how: int) -> Iterator[None]:
        path = self.root / "in-use.lock"
        with self._writing(path):
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(handle, how)
            yield
        finally:
            os.close(handle)

    def object_path(self, sha: str) -> Path:
        """Where the bytes of this hash lie, if they are there."""
        if len(sha) != 64 or not _HEX.issuperset(sha):
            raise HarnessError(
                f"artifact hash {sha!r}", "not a sha256", "delete the run and run again"
            )
        return self.root / "objects" / sha[:2] / sha[2:]

    def snapshots_path(self, key: str) -> Path:
        """Where the IR texts of the compilation ``key`` lie, if they are there."""
        return self.root / "snapshots" / key

    def manifest_path(self, kind: str, key: str) -> Path:
        """Where this manifest lies, if it is there."""
        return self.root / "manifests" / kind / f"{key}.json"

    def _write(self, path: Path, data: bytes) -> None:
        with self._writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".tmp-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(data)
                os.replace(temporary, path)
            except BaseException:
                Path(temporary).unlink(missing_ok=True)
                raise

    def _writing(self, path: Path) -> _Writing:
        return _Writing(path, self.root)


def _seal(kind: str, key: str, data: bytes) -> bytes:
    """What stands below a manifest: a hash over its contents and its name, so that neither can
    be another's."""
    return digest(f"{kind} {key} ".encode() + data).encode()


def _sound(compressed: bytes, sha: str) -> bytes | None:
    """What was compressed, if that has the hash ``sha``."""
    try:
        data = zstandard.decompress(compressed)
    except (zstandard.ZstdError, MemoryError):  # a damaged head may claim any size
        return None
    return data if digest(data) == sha else None


def _holds(path: Path, data: bytes) -> bool:
    try:
        return path.read_bytes() == data
    except OSError:  # what is there and cannot be read is written again
        return False


def _used(path: Path) -> bool:
    """Note that something is used now; False if it is not there."""
    try:
        os.utime(path)
    except FileNotFoundError:
        return False
    except OSError:
        return path.exists()  # in a store that may only be read nothing is noted
    return True


class _Writing:
    """Turns an OSError while writing into a HarnessError that names the path."""

    def __init__(self, path: Path, root: Path) -> None:
        self.path = path
        self.root = root.absolute()

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise HarnessError(
                f"store {self.root}",
                f"cannot write {self.path.name}: {error.strerror or error}",
                "free some space or give a writable folder with --store DIR;"
                " what was stored before is intact",
            ) from error
