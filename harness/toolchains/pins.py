"""Pins: the newest published releases of what is pinned, and the locks rewritten to them."""

from __future__ import annotations

import difflib
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec
import tomlkit

from harness.errors import HarnessError
from harness.model import PluginProof
from harness.toolchains.declaration import PLUGINS, Declaration, Role
from harness.toolchains.environment import run_uv

_PLAIN = ("--universal", "--no-header", "--no-annotate")
_RESOLVE = ("pip", "compile", "-", *_PLAIN)
_LOCK = ("pip", "compile", "-", "--generate-hashes", "--no-deps", *_PLAIN)


class Newest(msgspec.Struct, frozen=True):
    """The newest published versions, by distribution, that go together.

    ``beyond`` has those that are newer still but that a plugin's own requirements exclude.
    """

    versions: dict[str, str]
    beyond: dict[str, str]

    def override(self, role: Role) -> str | None:
        """What to give for the role with ``--toolchain``; None if its pins are the newest."""
        parts = [f"{name}=={self.versions[name]}" for name in role.pins]
        pinned = [requirement.split()[0] for requirement in role.pins.values()]
        return None if parts == pinned else ",".join(parts)


def newest(declaration: Declaration) -> Newest:
    """Ask the package index for the newest releases of everything that is pinned.

    Roles with the same compiler get the same version of it: the newest that the plugins among
    them allow. Raises HarnessError if the index cannot be asked.
    """
    versions: dict[str, str] = {}
    alone: dict[str, str] = {}
    for compiler in dict.fromkeys(role.compiler for role in declaration.roles.values()):
        sharing = [role for role in declaration.roles.values() if role.compiler == compiler]
        names = dict.fromkeys(name for role in sharing for name in role.pins)
        found = _resolved(sharing[0], list(names))
        versions |= {name: found[name] for name in names}
        for name in names:
            alone[name] = _resolved(sharing[0], [name])[name]
    return Newest(versions, {n: v for n, v in alone.items() if v != versions[n]})


def lock_text(role: Role, text: str, versions: Mapping[str, str]) -> str:
    """The role's lock, which now is ``text``, with these versions and the hashes of their files."""
    wanted = [f"{name}=={versions[name]}" for name in role.pins]
    head = [line for line in text.splitlines() if line.startswith("#")]
    command = "# printf '" + r"\n".join(wanted) + "' | uv " + " ".join(_LOCK)
    head = [command if line.startswith("# printf ") else line for line in head]
    with tempfile.TemporaryDirectory() as at:
        body = run_uv(role, Path(at), *_LOCK, given="\n".join(wanted))
    return "\n".join([*head, body])


def descriptor_text(text: str, proof: PluginProof) -> str:
    """A plugin's descriptor, which now is ``text``, with what its library registers."""
    document = tomlkit.parse(text)
    document["api_version"] = proof.api_version
    document["built_for_triton"] = proof.built_for_triton.partition("+")[0]
    for name in ("passes", "ops", "dialects"):
        found = getattr(proof, name)
        if list(document[name]) != list(found):
            array = tomlkit.array()
            array.extend(found)
            document[name] = array.multiline(True)
    return tomlkit.dumps(document)


def rewrite(texts: Mapping[str, str], folder: Path = PLUGINS) -> None:
    """Write files of a ``plugins`` folder, by name; raises HarnessError where that fails."""
    for name, text in texts.items():
        try:
            (folder / name).write_text(text)
        except OSError as error:
            raise HarnessError(
                str(folder / name),
                f"cannot be written: {error.strerror or error}",
                "run it in a clone of the project that you may write to",
            ) from error


def difference(name: str, before: str, after: str) -> str:
    """A unified diff of one file."""
    left, right = (text.splitlines(keepends=True) for text in (before, after))
    return "".join(difflib.unified_diff(left, right, f"a/{name}", f"b/{name}", n=1))


def _resolved(role: Role, names: list[str]) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as at:
        printed = run_uv(role, Path(at), *_RESOLVE, given="\n".join(names))
    pairs = (line.partition(" ")[0].partition("==") for line in printed.splitlines())
    return {name: version for name, equals, version in pairs if equals}
