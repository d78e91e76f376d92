"""Which versions of a distribution are published for this interpreter and machine."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request

from packaging.tags import sys_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from harness.errors import HarnessError
from harness.toolchains.declaration import Role

INDEX = "https://pypi.org/simple"
_ACCEPT = "application/vnd.pypi.simple.v1+json"
_TIMEOUT = 30.0  # seconds


def published(distribution: str, before_release: bool = False) -> list[str]:
    """The versions with a wheel that installs here, oldest first; none that were yanked, and
    development and pre-releases only with ``before_release``.

    Asks the index that ``UV_DEFAULT_INDEX`` names, else PyPI (the JSON form of PEP 691).
    Raises HarnessError if it does not answer.
    """
    address = f"{os.environ.get('UV_DEFAULT_INDEX', INDEX).rstrip('/')}/{distribution}/"
    request = urllib.request.Request(address, headers={"Accept": _ACCEPT})
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
            files = json.load(answer)["files"]
    except (OSError, ValueError, LookupError) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        cause = error.reason if isinstance(error, urllib.error.URLError) else error
        raise HarnessError(
            f"index {address}",
            f"does not say which versions there are: {cause or type(error).__name__}",
            "check the network, or name the versions yourself",
        ) from error
    tags = set(sys_tags())
    found: set[Version] = set()
    for file in files:
        try:
            _, version, _, of_wheel = parse_wheel_filename(file["filename"])
        except InvalidWheelFilename:
            continue
        early = version.is_prerelease or version.is_devrelease
        if not file.get("yanked") and tags & of_wheel and (before_release or not early):
            found.add(version)
    return [str(version) for version in sorted(found)]


def override(role: Role, version: str) -> str:
    """What to give for ``role`` with ``--toolchain`` to have this version of what it is about:
    of its plugin, with the Triton of the release that the plugin is named after, or else of its
    compiler. ``PLUGIN:TRITON`` names both. Raises HarnessError if it is no version.
    """
    if not role.plugins:
        return f"{role.compiler}=={order(version)}"
    plugin, _, triton = version.partition(":")
    triton = str(order(triton)) if triton else order(plugin).base_version
    return f"{role.compiler}=={triton},{role.plugins[0].distribution}=={order(plugin)}"


def order(version: str) -> Version:
    """A version, to be compared with others; raises HarnessError if it is none. Of
    ``PLUGIN:TRITON``, the plugin's."""
    try:
        return Version(version.partition(":")[0])
    except InvalidVersion as error:
        raise HarnessError(
            f"version {version!r}", "is no version", "write for example 3.8.0.post16"
        ) from error


def subject(role: Role) -> str:
    """The distribution whose versions make a role's history: its plugin's, or its compiler's."""
    return role.plugins[0].distribution if role.plugins else role.compiler
