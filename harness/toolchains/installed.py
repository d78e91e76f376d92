"""Installed files against the RECORDs of their distributions."""

from __future__ import annotations

import base64
import binascii
import csv
import hashlib
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import Distribution, distributions
from pathlib import Path


def differences(folders: Iterable[Path]) -> list[str]:
    """What differs, in words: changed, missing and added files of the distributions there."""
    found = list(distributions(path=[str(folder) for folder in folders]))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [line for lines in pool.map(_check, found) for line in lines]


def _check(distribution: Distribution) -> list[str]:
    name = f"{distribution.metadata['Name']} {distribution.version}"
    # Not Distribution.files: from Python 3.12 on it leaves out what is missing.
    record = list(csv.reader((distribution.read_text("RECORD") or "").splitlines()))
    if not record:
        return [f"{name}: has no RECORD, so its files cannot be verified"]
    root = Path(str(distribution.locate_file("")))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        compared = pool.map(lambda row: _compare(root, row[0], row[1]), record)
        problems = [problem for problem in compared if problem]
    problems += [f"{path} was added" for path in _added(root, [row[0] for row in record])]
    return [f"{name}: {problem}" for problem in problems]


def _compare(root: Path, file: str, recorded: str) -> str:
    """What is wrong with a file whose ``algorithm=hash`` is recorded (RECORD itself has none)."""
    mode, _, value = recorded.partition("=")
    if not value:
        return ""
    try:
        with open(root / file, "rb") as opened:
            digest = hashlib.file_digest(opened, mode).digest()
    except FileNotFoundError:
        return f"{file} is missing"
    try:
        same = base64.urlsafe_b64decode(value + "=" * (-len(value) % 4)) == digest
    except binascii.Error:
        same = False
    return "" if same else f"{file} has changed"


def _added(root: Path, files: list[str]) -> Iterator[str]:
    """Python files and libraries in the distribution's folders that its RECORD lacks."""
    listed = set(files)
    parts = [file.split("/") for file in files]
    tops = {part[0] for part in parts if len(part) > 1 and part[0] != ".."}
    for top in sorted(tops):
        for path in sorted((root / top).rglob("*")):
            relative = str(path.relative_to(root))
            if path.suffix in (".py", ".so") and relative not in listed:
                yield relative
