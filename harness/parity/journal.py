"""The journal of a parity run: one JSON line per measured case, so that a killed run resumes."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from harness.errors import HarnessError
from harness.parity.result import REPORT_VERSION, Device, ParityReport, ParityResult, State


class _Header(msgspec.Struct, frozen=True):
    version: int
    bundle: str


class _Entry(msgspec.Struct, frozen=True):
    slot: str
    device: Device
    result: ParityResult


class Journal:
    """Results of one bundle so far, beside the report's path.

    What an earlier run of the same bundle left is taken over, except for skipped cases, which
    are tried again. Raises HarnessError where the folder cannot be written.
    """

    def __init__(self, out: Path, bundle: str) -> None:
        self._out = out
        self._path = out.with_name(out.name + ".journal")
        self.results: dict[str, ParityResult] = {}
        self.devices: dict[str, Device] = {}
        header = _Header(REPORT_VERSION, bundle)
        entries = self._earlier(header)
        with self._writing():
            out.parent.mkdir(parents=True, exist_ok=True)
            lines = [msgspec.json.encode(record) for record in (header, *entries)]
            _replace(self._path, b"".join(line + b"\n" for line in lines))
        for entry in entries:
            self._remember(entry)

    def add(self, result: ParityResult, slot: str, device: Device) -> None:
        """Keep a result, on disk before this returns."""
        entry = _Entry(slot, device, result)
        self._remember(entry)
        with self._writing(), self._path.open("ab") as file:
            file.write(msgspec.json.encode(entry) + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def finish(self, report: ParityReport) -> None:
        """Write the report in place of the journal."""
        with self._writing():
            _replace(self._out, msgspec.json.encode(report) + b"\n")
            self._path.unlink(missing_ok=True)

    def _remember(self, entry: _Entry) -> None:
        self.results[entry.result.case] = entry.result
        self.devices[entry.slot] = entry.device

    def _earlier(self, header: _Header) -> list[_Entry]:
        try:
            first, *lines = self._path.read_bytes().splitlines() or [b""]
        except FileNotFoundError:
            return []
        entries = []
        # A line that was being written when the run was killed ends what can be taken over.
        with contextlib.suppress(msgspec.MsgspecError):
            if msgspec.json.decode(first, type=_Header) == header:
                for line in lines:
                    entries.append(msgspec.json.decode(line, type=_Entry))
        return [entry for entry in entries if entry.result.state is not State.SKIPPED]

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise HarnessError(
                f"parity report {self._out}",
                f"cannot be written: {error.strerror or error}",
                "free some space or give -o a path that can be written; run again to resume",
            ) from error


def _replace(path: Path, data: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".tmp-parity-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
