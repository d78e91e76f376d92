"""The bundle: a tar of a manifest and of objects by sha256, safe to open when hostile.

Members, in this order: ``manifest.json``, ``manifest.sha256``, ``objects/<sha256>`` (zlib).
Opening reads every member once and checks it; nothing is ever extracted to disk. There is no
code in a bundle but the GPU binaries, which are run when and only when a case is launched.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import tarfile
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import numpy as np

from harness.errors import HarnessError
from harness.parity.formats import Floats
from harness.parity.manifest import VERSION, BundledCase, Manifest

_MANIFEST = "manifest.json"
_MANIFEST_HASH = "manifest.sha256"
_OBJECT = re.compile(r"objects/([0-9a-f]{64})\Z")
_LIMIT_FILE = 2 << 30
_LIMIT_MANIFEST = 64 << 20
_LIMIT_MEMBERS = 100_000
_LIMIT_TOTAL = 8 << 30
_AGAIN = "copy the bundle again, or write it again with `tlx-equiv bundle`"


class Bundle:
    """An open, verified bundle. ``sha256`` is the hash of its manifest, so of all it holds.

    Raises HarnessError for a file that is missing, truncated, altered, too large, of another
    version, or that holds anything but what a bundle holds.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            if path.stat().st_size > _LIMIT_FILE:
                raise self._error(f"larger than {_LIMIT_FILE >> 20} MiB", "bundle fewer cases")
            self._file = path.open("rb")
        except OSError as error:
            raise self._error(error.strerror or str(error), "give the path of a bundle") from error
        try:
            self._places = dict(self._members())
            self.sha256, self.manifest = self._manifest()
            self._verify()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Bundle:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, sha: str) -> bytes:
        """The object with this hash, verified."""
        size = self.manifest.objects.get(sha)
        place = self._places.get(f"objects/{sha}")
        if size is None or place is None:
            raise self._error(f"object {sha[:12]} is missing (truncated?)", _AGAIN)
        unpacker = zlib.decompressobj()
        try:
            data = unpacker.decompress(self._raw(*place), size + 1)
        except zlib.error as error:
            raise self._error(f"object {sha[:12]} is damaged: {error}", _AGAIN) from error
        if len(data) != size or hashlib.sha256(data).hexdigest() != sha:
            raise self._error(f"object {sha[:12]} is not what its hash says (altered)", _AGAIN)
        return data

    def array(self, sha: str, shape: tuple[int, ...]) -> Floats:
        """The float64 array with this hash; its shape is the output's that it belongs to."""
        data = self.read(sha)
        count = int(np.prod(shape, dtype=object))
        if len(data) != 8 * count:
            raise self._error(f"reference {sha[:12]} does not have the shape {shape}", _AGAIN)
        planes = np.frombuffer(data, np.uint8).reshape(8, count)
        return np.ascontiguousarray(planes.T).view("<f8").reshape(shape)

    def case(self, case_id: str) -> BundledCase:
        """The case with this id; raises KeyError if the bundle has none."""
        return {case.id: case for case in self.manifest.cases}[case_id]

    def _members(self) -> Iterator[tuple[str, tuple[int, int]]]:
        """Name, offset and size of every member, refusing all but plain expected files."""
        names: set[str] = set()
        try:
            with tarfile.open(fileobj=self._file, mode="r:", format=tarfile.USTAR_FORMAT) as tar:
                for info in tar:
                    known = info.name in (_MANIFEST, _MANIFEST_HASH) or _OBJECT.match(info.name)
                    if not known or info.type != tarfile.REGTYPE or info.issparse():
                        raise self._error(
                            f"holds {info.name[:100]!r}, which no bundle holds",
                            "do not trust this file; take one that `tlx-equiv bundle` wrote",
                        )
                    if info.name in names:
                        raise self._error(f"holds {info.name[:100]!r} twice", _AGAIN)
                    names.add(info.name)
                    if len(names) > _LIMIT_MEMBERS:
                        raise self._error(f"holds over {_LIMIT_MEMBERS} members", _AGAIN)
                    yield info.name, (info.offset_data, info.size)
        except (tarfile.TarError, EOFError, OSError, ValueError, OverflowError) as error:
            raise self._error(f"truncated, or not a bundle ({error})", _AGAIN) from error

    def _raw(self, offset: int, size: int) -> bytes:
        self._file.seek(offset)
        data = self._file.read(size)
        if len(data) != size:
            raise self._error("truncated", _AGAIN)
        return data

    def _manifest(self) -> tuple[str, Manifest]:
        for name in (_MANIFEST, _MANIFEST_HASH):
            if name not in self._places:
                raise self._error(f"has no {name}: not a bundle, or truncated", _AGAIN)
        offset, size = self._places[_MANIFEST]
        if size > _LIMIT_MANIFEST:
            raise self._error(f"its manifest is over {_LIMIT_MANIFEST >> 20} MiB", _AGAIN)
        text = self._raw(offset, size)
        sha = hashlib.sha256(text).hexdigest()
        if self._raw(*self._places[_MANIFEST_HASH])[:64] != sha.encode():
            raise self._error("its manifest was altered", _AGAIN)
        try:
            version = msgspec.json.decode(text, type=_Version).version
            if version != VERSION:
                raise self._error(
                    f"has version {version}, this tool reads {VERSION}",
                    "use the tool of the same release on both machines",
                )
            return sha, msgspec.json.decode(text, type=Manifest)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise self._error(f"its manifest is malformed: {error}", _AGAIN) from error

    def _verify(self) -> None:
        if sum(self.manifest.objects.values()) > _LIMIT_TOTAL:
            raise self._error(f"unpacks to over {_LIMIT_TOTAL >> 30} GiB", "bundle fewer cases")
        needed = {sha for case in self.manifest.cases for sha in _needed(case)}
        if stray := needed ^ set(self.manifest.objects):
            raise self._error(f"its list of objects is off at {min(stray)[:12]}", _AGAIN)
        for sha in self.manifest.objects:
            self.read(sha)
        for case in self.manifest.cases:
            outputs = case.check.outputs()
            for trial in case.trials:
                for name, reference in trial.references.items():
                    if name not in outputs:
                        raise self._error(f"{case.id} has no output {name!r}", _AGAIN)
                    size = 8 * int(np.prod(outputs[name].shape, dtype=object))
                    if {self.manifest.objects[reference.value]} != {size} or (
                        self.manifest.objects[reference.bound] != size
                    ):
                        raise self._error(f"{case.id}: the reference of {name!r} is off", _AGAIN)

    def _error(self, cause: str, way_out: str) -> HarnessError:
        return HarnessError(f"bundle {self.path}", cause, way_out)


class _Version(msgspec.Struct):
    version: int


def _needed(case: BundledCase) -> Iterator[str]:
    for side in case.sides:
        yield side.binary
    for trial in case.trials:
        for reference in trial.references.values():
            yield reference.value
            yield reference.bound


def array_bytes(array: Floats) -> bytes:
    """A float64 array as an object: its eight byte planes, which compress far better."""
    plain = np.ascontiguousarray(array, "<f8").view(np.uint8).reshape(-1, 8)
    return np.ascontiguousarray(plain.T).tobytes()


def write(path: Path, manifest: Manifest, objects: Mapping[str, bytes]) -> None:
    """Write a bundle, replacing ``path`` only when all of it is there.

    The same contents give the same bytes. Raises HarnessError when it cannot be written.
    """
    text = msgspec.json.encode(manifest)
    members = {_MANIFEST: text, _MANIFEST_HASH: hashlib.sha256(text).hexdigest().encode()}
    members |= {f"objects/{sha}": zlib.compress(objects[sha], 6) for sha in manifest.objects}
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".tmp-bundle-")
        with (
            os.fdopen(handle, "wb") as file,
            tarfile.open(fileobj=file, mode="w:", format=tarfile.USTAR_FORMAT) as tar,
        ):
            for name, data in members.items():
                info = tarfile.TarInfo(name)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise HarnessError(
            f"bundle {path}",
            f"cannot be written: {error.strerror or error}",
            "free some space, or give -o a path that can be written",
        ) from error
