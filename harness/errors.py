"""The one error type that users see: what is wrong, why, and the way out."""

from __future__ import annotations


class HarnessError(Exception):
    """A usage or environment error (exit status 2), never a verdict.

    ``thing`` names what is wrong (a path, a case, an option), ``cause`` says why, and
    ``way_out`` what the user can do. All three are shown; none may be empty.
    """

    def __init__(self, thing: str, cause: str, way_out: str) -> None:
        super().__init__(thing, cause, way_out)
        self.thing = thing
        self.cause = cause
        self.way_out = way_out

    def __str__(self) -> str:
        return f"{self.thing}: {self.cause}\n  way out: {self.way_out}"
