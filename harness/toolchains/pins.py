"""Pins: the newest published releases of what is pinned, and the locks rewritten to them."""

from __future__ import annotations

import difflib
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import tomlkit

from harness.errors import HarnessError
from harness.model import PluginProof
from harness.toolchains.declaration import Declaration, Role
from harness.toolchains.descriptor import PLUGINS, Descriptor
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
    beyond: dict[str, str] = {}
    for compiler in dict.fromkeys(role.compiler for role in declaration.roles.values()):
        sharing = [role for role in declaration.roles.values() if role.compiler == compiler]
        plugins = dict.fromkeys(d.distribution for role in sharing for d in role.plugins)
        alone = _resolved(sharing[0], [compiler])[compiler]
        # Plugins only: asked for both, uv might take an old plugin that allows a newer compiler.
        found = {compiler: alone, **(_resolved(sharing[0], list(plugins)) if plugins else {})}
        versions |= {name: found[name] for role in sharing for name in role.pins}
        if versions[compiler] != alone:
            beyond[compiler] = alone
    return Newest(versions, beyond)


class Edit(msgspec.Struct, frozen=True):
    """A file of the ``plugins`` folder, ``name`` as it is called from above that folder."""

    path: Path
    before: str
    after: str

    @property
    def name(self) -> str:
        """The file's place in the project."""
        return str(self.path.relative_to(PLUGINS.parent))

    @property
    def difference(self) -> str:
        """What changes, as a unified diff."""
        left, right = (text.splitlines(keepends=True) for text in (self.before, self.after))
        names = (f"a/{self.name}", f"b/{self.name}")
        return "".join(difflib.unified_diff(left, right, *names, n=1))


def lock(role: Role, versions: Mapping[str, str]) -> Edit:
    """The role's lock with these versions and the hashes of all their files."""
    path = PLUGINS.parent / role.lock
    text = path.read_text()
    wanted = [f"{name}=={versions[name]}" for name in role.pins]
    command = "# printf '" + r"\n".join(wanted) + "' | uv " + " ".join(_LOCK)
    head = [line for line in text.splitlines() if line.startswith("#")]
    head = [command if line.startswith("# printf ") else line for line in head]
    with tempfile.TemporaryDirectory() as at:
        body = run_uv(role, Path(at), *_LOCK, given="\n".join(wanted))
    return Edit(path, text, "\n".join([*head, body]))


def described(descriptor: Descriptor, proof: PluginProof) -> Edit:
    """A plugin's descriptor with what its library registers, as ``proof`` measured it."""
    path = PLUGINS / f"{descriptor.name}.toml"
    text = path.read_text()
    document = tomlkit.parse(text)
    document["api_version"] = proof.api_version
    document["built_for_triton"] = proof.built_for_triton.partition("+")[0]
    for name in ("passes", "ops", "dialects"):
        found = getattr(proof, name)
        if list(document[name]) != list(found):
            array = tomlkit.array()
            array.extend(found)
            document[name] = array.multiline(True)
    return Edit(path, text, tomlkit.dumps(document))


def rewrite(edits: Sequence[Edit]) -> None:
    """Write the files; raises HarnessError where that fails."""
    for edit in edits:
        try:
            edit.path.write_text(edit.after)
        except OSError as error:
            raise HarnessError(
                str(edit.path),
                f"cannot be written: {error.strerror or error}",
                "run it in a clone of the project that you may write to",
            ) from error


def _resolved(role: Role, names: list[str]) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as at:
        printed = run_uv(role, Path(at), *_RESOLVE, given="\n".join(names))
    pairs = (line.partition(" ")[0].partition("==") for line in printed.splitlines())
    return {name: version for name, equals, version in pairs if equals}
