"""Installed files against the RECORDs of their distributions."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import Distribution, PackagePath, distributions
from pathlib import Path


def differences(folders: Iterable[Path]) -> list[str]:
    """What differs, in words: changed, missing and added files of the distributions there."""
    found = list(distributions(path=[str(folder) for folder in folders]))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [line for lines in pool.map(_check, found) for line in lines]


def _check(distribution: Distribution) -> list[str]:
    name = f"{distribution.metadata['Name']} {distribution.version}"
    files = distribution.files
    if not files:
        return [f"{name}: has no RECORD, so its files cannot be verified"]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = [problem for problem in pool.map(_compare, files) if problem]
    problems += [f"{path} was added" for path in _added(distribution, files)]
    return [f"{name}: {problem}" for problem in problems]


def _compare(file: PackagePath) -> str:
    if file.hash is None:
        return ""
    try:
        with open(file.locate(), "rb") as opened:
            digest = hashlib.file_digest(opened, file.hash.mode).digest()
    except FileNotFoundError:
        return f"{file} is missing"
    recorded = file.hash.value + "=" * (-len(file.hash.value) % 4)
    try:
        same = base64.urlsafe_b64decode(recorded) == digest
    except binascii.Error:
        same = False
    return "" if same else f"{file} has changed"


def _added(distribution: Distribution, files: list[PackagePath]) -> Iterator[str]:
    """Python files and libraries in the distribution's folders that its RECORD lacks."""
    listed = {str(file) for file in files}
    tops = {file.parts[0] for file in files if len(file.parts) > 1 and file.parts[0] != ".."}
    root = Path(str(distribution.locate_file("")))
    for top in sorted(tops):
        for path in sorted((root / top).rglob("*")):
            relative = str(path.relative_to(root))
            if path.suffix in (".py", ".so") and relative not in listed:
                yield relative
