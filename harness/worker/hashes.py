"""Hashes of files, remembered as long as a file's stamp stays the same."""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import re
import tempfile
from typing import Any

_LLD = re.compile(rb"LLD [^\0]{1,40} \([^\0 ]*llvm-project ([0-9a-f]{40})\)")


class Hashes:
    """sha256 of files, remembered in ``path`` (nothing is remembered where it is empty).

    A file is known by its path, inode, size, mtime and ctime: an edited one is hashed again.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._known: dict[str, Any] = {}
        self._changed = False
        try:
            with open(path, encoding="utf-8") as file:
                known = json.load(file)
        except (OSError, ValueError):
            return  # absent or damaged: only a cache
        if isinstance(known, dict):
            self._known = known

    def sha256(self, path: str) -> str:
        """The hash of the file's contents, lower-case hex."""
        with open(path, "rb", buffering=0) as file:
            found = os.fstat(file.fileno())
            stamp = [found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]
            known = self._known.get(path)
            if isinstance(known, list) and known[:-1] == stamp:
                return str(known[-1])
            digest = hashlib.sha256()
            while block := file.read(1 << 20):
                digest.update(block)
        self._known[path] = [*stamp, digest.hexdigest()]
        self._changed = True
        return digest.hexdigest()

    def llvm_revision(self, library: str) -> str:
        """The commit of the LLVM linked into ``library``, as its linker names it, or ``""``."""
        key = "llvm " + self.sha256(library)
        if key not in self._known:
            with (
                open(library, "rb") as file,
                mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
            ):
                self._known[key] = _find_llvm(data)
            self._changed = True
        return str(self._known[key])

    def save(self) -> None:
        """Write what is new; a folder that cannot be written only means hashing again."""
        if not (self.path and self._changed):
            return
        try:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=os.path.dirname(self.path))
        except OSError:
            return
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(self._known, file)
            os.replace(temporary, self.path)
        except OSError:
            os.unlink(temporary)


def _find_llvm(data: mmap.mmap) -> str:
    """The commit that LLD, linked in for AMD's binaries, names as its own."""
    position = data.find(b"LLD ")
    while position >= 0:
        match = _LLD.match(data, position)
        if match:
            return match[1].decode()
        position = data.find(b"LLD ", position + 1)
    return ""
