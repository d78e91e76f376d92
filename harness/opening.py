"""How a session is opened, in plain values that another process or machine can be given."""

from __future__ import annotations

from pathlib import Path

import msgspec

from harness.ledger import Ledger
from harness.record import Record
from harness.session import AGAIN, Session
from harness.store import Store
from harness.toolchains import Toolchain, controls, ensure, find_descriptor, overlaid


class Opening(Record, frozen=True):
    """A session to be. ``reference`` and ``candidate`` are declared roles, ``overrides`` what
    stands in for a role's pins; ``plugins`` (names or paths) join the candidate, which is then
    called after them; ``store`` is a path. Paths are absolute."""

    store: str
    reference: str = "fork"
    candidate: str = "plugin"
    lane: str = "controlled"
    overrides: dict[str, str] = {}
    plugins: tuple[str, ...] = ()
    fresh: bool = False
    explaining: bool = True

    def sides(self) -> tuple[Toolchain, Toolchain]:
        """Both toolchains, made if need be; raises HarnessError if one cannot be had.

        A candidate that is the reference itself is called so.
        """
        roles = (self.reference, self.candidate)
        reference, candidate = (ensure(role, self.overrides.get(role)) for role in roles)
        candidate = overlaid(candidate, [find_descriptor(given) for given in self.plugins])
        if reference.role == candidate.role:
            candidate = msgspec.structs.replace(candidate, role=candidate.role + AGAIN)
        return reference, candidate

    def arguments(self) -> tuple[str, ...]:
        """The options with which ``tlx-equiv run`` opens the same, each with its value; none
        for what it does by itself."""
        found = []
        usual = Opening(self.store)
        if (self.reference, self.candidate) != (usual.reference, usual.candidate):
            found += ["--sides", f"{self.reference}:{self.candidate}"]
        if self.lane != usual.lane:
            found += ["--lane", self.lane]
        for role, where in self.overrides.items():
            found += ["--toolchain", f"{role}={where}"]
        for plugin in self.plugins:
            found += ["--plugin", plugin]
        return tuple(found)

    def session(self, ledger: Ledger) -> Session:
        """A session over both sides, judged by ``ledger``."""
        reference, candidate = self.sides()
        return Session(
            reference,
            candidate,
            Store(Path(self.store)),
            ledger,
            self.lane,
            controls(self.lane, {each.role: each for each in (reference, candidate)}),
            fresh=self.fresh,
            explaining=self.explaining,
            arguments=self.arguments(),
        )
