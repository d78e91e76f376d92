"""The self-check as a whole: its parts, and what they need."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path

import filelock

from harness.corpus import Corpus
from harness.errors import HarnessError
from harness.model import Case
from harness.selfcheck import (
    artifacts,
    benign,
    binaries,
    bundles,
    damage,
    installs,
    material,
    outputs,
    pipelines,
    stored,
    twins,
)
from harness.selfcheck.material import Sample
from harness.selfcheck.table import Finding
from harness.session import Session
from harness.toolchains import cache_root, ensure

ROLES = ("fork", "plugin", "upstream")
TWINS = (
    "async_copy/ring_copy/fp32-3x128@cuda:90",
    "baseline/row_sum/*@cuda:80",
    "baseline/vector_add/*@hip:gfx950",
    "blackwell/tmem_roundtrip/fp32-128x64-w4@cuda:100",
    "negative/narrow_async_copy/*@cuda:90",
)
"""Patterns of the cases that are compiled by a second environment unless all are."""
_IN_STORE = 2  # cases whose stored entries are damaged, both sides of each
_PROBE = "async_copy/ring_copy/fp32-2x128@cuda:90"


class Suite:
    """Runs the parts. ``session`` compares the fork with the plugin; ``folder`` holds what is
    made for the check alone (second environments, stores that are damaged, hooks)."""

    def __init__(self, corpus: Corpus, session: Session, folder: Path, jobs: int) -> None:
        self.corpus = corpus
        self.session = session
        self.folder = folder
        self.jobs = jobs

    def artifacts(self) -> Iterator[Finding]:
        """Plantings in artifacts and outputs, those that are benign, and damaged artifacts."""
        return chain(
            artifacts.plant_texts(self._samples),
            binaries.plant_binaries(self._samples),
            outputs.plant_outputs(),
            benign.plant_benign(self._samples),
        )

    def pipelines(self) -> Iterator[Finding]:
        """Plantings in pipelines."""
        cases = [self._case(pattern) for pattern in pipelines.KERNELS]
        return pipelines.plant_pipelines(
            self.session.toolchains["plugin"],
            cases,
            self.session.store,
            self._made("hooks"),
            self.jobs,
        )

    def toolchains(self) -> Iterator[Finding]:
        """Plantings in toolchains."""
        return installs.plant_in_toolchains(
            {role: ensure(role) for role in ROLES},
            ensure("plugin", cache=self._made("cache")),
            self._case(_PROBE),
            self._made("probes"),
        )

    def evidence(self) -> Iterator[Finding]:
        """Plantings in artifacts, stores and bundles: what is damaged, missing or another's."""
        pairs = []
        for pattern in material.CASES[:_IN_STORE]:
            sides = self.session.evaluate(self._case(pattern)).compilations
            pairs.append((sides["fork"], sides["plugin"]))
        return chain(
            damage.plant_damage(self._samples),
            stored.plant_in_store(pairs, self.session.store, self._made("store")),
            bundles.plant_in_bundles(self._samples, self._made("bundles")),
        )

    def twins(self, cases: Sequence[Case]) -> Iterator[Finding]:
        """Each toolchain against a second one, on ``cases``."""
        for role in ROLES:
            yield from twins.compare_twins(role, cases, self._made("twins"), self.jobs)

    def sample(self) -> list[Case]:
        """The cases of the twins, unless all are asked for."""
        return [self._case(pattern) for pattern in TWINS]

    @cached_property
    def _samples(self) -> list[Sample]:
        return list(
            material.gather(self.session, [self._case(pattern) for pattern in material.CASES])
        )

    def _case(self, pattern: str) -> Case:
        found = self.corpus.select([pattern])
        if not found:
            raise HarnessError(
                f"case {pattern}",
                "the self-check plants in it, and the corpus has none of that name",
                "run it on the project's own corpus",
            )
        return found[0]

    def _made(self, name: str) -> Path:
        path = self.folder / name
        path.mkdir(exist_ok=True)
        return path


@contextlib.contextmanager
def working_folder(waiting: Callable[[], None]) -> Iterator[Path]:
    """A folder in the cache for one self-check at a time, empty, and removed afterwards."""
    folder = cache_root() / "selfcheck"
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(f"{folder}.lock")
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        waiting()
        lock.acquire()
    try:
        shutil.rmtree(folder, ignore_errors=True)  # a killed predecessor's
        folder.mkdir()
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        lock.release()
