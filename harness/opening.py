"""How a session is opened, in plain values that another process or machine can be given."""

from __future__ import annotations

from pathlib import Path

import msgspec

from harness.errors import HarnessError
from harness.ledger import Ledger
from harness.record import Record
from harness.session import AGAIN, Session
from harness.store import Store
from harness.toolchains import Toolchain, controls, ensure


class Opening(Record, frozen=True):
    """A session to be. ``reference`` and ``candidate`` are declared roles, ``overrides`` what
    stands in for a role's pins; ``hooks`` (paths) join the candidate, which is then called
    after them; ``store`` is a path. Paths are absolute."""

    reference: str
    candidate: str
    lane: str
    store: str
    overrides: dict[str, str] = {}
    hooks: tuple[str, ...] = ()
    fresh: bool = False
    explaining: bool = True

    def sides(self) -> tuple[Toolchain, Toolchain]:
        """Both toolchains, made if need be; raises HarnessError if one cannot be had.

        A candidate that is the reference itself is called so.
        """
        roles = (self.reference, self.candidate)
        reference, candidate = (ensure(role, self.overrides.get(role)) for role in roles)
        if self.hooks:
            paths = tuple(Path(text) for text in self.hooks)
            for path in paths:
                if not path.is_file():
                    raise HarnessError(f"--hook {path}", "no such file", "name a Python file")
            candidate = msgspec.structs.replace(
                candidate,
                role="+".join([candidate.role, *(path.stem for path in paths)]),
                hooks=paths,
            )
        if reference.role == candidate.role:
            candidate = msgspec.structs.replace(candidate, role=candidate.role + AGAIN)
        return reference, candidate

    def session(self, ledger: Ledger) -> Session:
        """A session over both sides, judged by ``ledger``."""
        reference, candidate = self.sides()
        return Session(
            reference,
            candidate,
            Store(Path(self.store)),
            ledger,
            self.lane,
            controls(self.lane, {self.reference: reference, self.candidate: candidate}),
            fresh=self.fresh,
            explaining=self.explaining,
        )
