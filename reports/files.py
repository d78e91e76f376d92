"""The report's folder: files written whole or not at all, and the artifacts copied into it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from harness.errors import HarnessError
from harness.model import Artifact
from harness.store import Store
from reports.cases import slugs
from reports.ladder import BINARIES
from reports.view import RunView

# (case id, role, stage) -> path below the report's folder.
Links = dict[tuple[str, str, str], str]


class Folder:
    """A folder to write into; raises HarnessError where it cannot be written."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, name: str, content: str | bytes) -> Path:
        """Write one file under its final name, complete; returns its path."""
        path = self.root / name
        data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
        temporary = ""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".report-")
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except OSError as error:
            if temporary:
                Path(temporary).unlink(missing_ok=True)
            raise HarnessError(
                f"report folder {self.root}",
                f"cannot write {name}: {error.strerror or error}",
                "give a writable folder with --out DIR; the run and its store are untouched",
            ) from error
        return path

    def has(self, name: str) -> bool:
        """Whether a file of that name is there already."""
        return (self.root / name).is_file()


def export_artifacts(view: RunView, store: Store, folder: Folder) -> Links:
    """Copy both sides' artifacts of every stage that differs, and what failures printed.

    Names carry the content's hash, so what an earlier report wrote is not written again. An
    artifact that the store has lost gets no link.
    """
    links: Links = {}
    safe = slugs(name for case in view.cases for name in case.result.compilations)
    safe |= slugs(rung.stage for case in view.cases for rung in case.rungs) | {"stderr": "stderr"}
    for case in view.cases:
        stages = [rung.stage for rung in case.rungs if rung.differs]
        for role, compilation in case.result.compilations.items():
            for stage in (*stages, "stderr"):
                artifact = compilation.artifacts.get(stage)
                if artifact is not None:
                    # As .txt, so that a browser shows it instead of saving it.
                    suffix = stage if stage in BINARIES else "txt"
                    name = f"{safe[stage]}.{safe[role]}.{artifact.sha256[:12]}.{suffix}"
                    path = f"artifacts/{case.slug}/{name}"
                    if folder.has(path) or _copy(store, artifact, folder, path):
                        links[case.id, role, stage] = path
    return links


def _copy(store: Store, artifact: Artifact, folder: Folder, name: str) -> bool:
    data = store.read(artifact)
    if data is None:
        return False
    folder.write(name, data)
    return True
