"""What a check of a toolchain found, with the way out."""

from harness.errors import HarnessError
from harness.record import Record


class Finding(Record, frozen=True):
    """What the check of that name found about ``thing``.

    With a ``problem`` no run can be a result; what is none is only worth saying.
    """

    check: str
    thing: str
    cause: str
    way_out: str
    problem: bool = True

    def error(self) -> HarnessError:
        """The same as an error."""
        return HarnessError(self.thing, self.cause, self.way_out)
