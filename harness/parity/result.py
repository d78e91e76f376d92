"""What a parity run found: records that survive JSON, ``parity.json`` being a ParityReport."""

from __future__ import annotations

import enum
from pathlib import Path

import msgspec

from harness.errors import HarnessError
from harness.parity.manifest import Record, ToolchainStamp

REPORT_VERSION = 1


class State(enum.StrEnum):
    """How a case ended, worst first but for ``SKIPPED``."""

    FAULT = "FAULT"
    TIMEOUT = "TIMEOUT"
    STRAY_WRITE = "STRAY_WRITE"
    NONDETERMINISTIC = "NONDETERMINISTIC"
    WRONG = "WRONG"
    DIFFERENT = "DIFFERENT"
    BITWISE_EQUAL = "BITWISE_EQUAL"
    SKIPPED = "SKIPPED"


class Specials(Record, frozen=True):
    """How many NaNs (or infinities) the reference and the candidate have alone and both."""

    left_only: int = 0
    right_only: int = 0
    both: int = 0
    payloads_differ: int = 0


class Bits(Record, frozen=True):
    """One output, side against side. ``first`` holds the two bit patterns in hex.

    ``histogram`` counts differing elements by their distance in ULP (``"3-4"``);
    ``program`` is the CTA that writes the first differing element, -1 where not derivable.
    """

    output: str
    elements: int
    nan: Specials
    inf: Specials
    differing: int = 0
    worst_ulp: int = 0
    histogram: dict[str, int] = msgspec.field(default_factory=dict)
    zero_signs: int = 0
    first_index: tuple[int, ...] = ()
    first: tuple[str, ...] = ()
    program: int = -1


class Truth(Record, frozen=True):
    """One output of one side against the float64 reference.

    ``worst_of_bound`` is the largest error as a fraction of its bound. ``unjudged`` elements
    have no bound; ``unwritten`` ones still hold what was there before the launch.
    """

    output: str
    side: str
    elements: int
    wrong: int = 0
    unjudged: int = 0
    unwritten: int = 0
    worst_error: float = 0.0
    worst_of_bound: float = 0.0
    first_index: tuple[int, ...] = ()
    first: str = ""


class Repeat(Record, frozen=True):
    """One side against itself: ``moving`` counts the bytes that ever changed."""

    side: str
    launches: int
    moving: int = 0
    output: str = ""
    first_index: tuple[int, ...] = ()


class Stray(Record, frozen=True):
    """Bytes changed that no kernel may change; ``where`` names the buffer or its red zone."""

    side: str
    where: str
    changed: int
    first_offset: int


class TrialResult(Record, frozen=True):
    """All that was measured with one input distribution."""

    distribution: str
    repeats: tuple[Repeat, ...] = ()
    bits: tuple[Bits, ...] = ()
    truth: tuple[Truth, ...] = ()
    stray: tuple[Stray, ...] = ()


class Timing(Record, frozen=True):
    """One side's launches: microseconds, median and the middle half of the samples."""

    median: float
    low: float
    high: float
    samples: int


class Speed(Record, frozen=True):
    """Both sides timed in turns. ``ratio`` is candidate over reference, with its interval.

    ``verdict``: ``same``, ``slower``, ``faster`` (the candidate), ``too short to time`` or
    ``one binary``. ``copies`` is the number of rotated sets of buffers.
    """

    sides: dict[str, Timing]
    verdict: str
    copies: int
    ratio: float = 1.0
    low: float = 1.0
    high: float = 1.0


class Resources(Record, frozen=True):
    """What a loaded binary uses: per thread, but ``static_shared`` and ``shared`` per CTA."""

    registers: int
    local_bytes: int
    static_shared: int
    shared: int


class ParityResult(Record, frozen=True):
    """One case. ``side`` is a role or ``both``, empty where the state has none.

    ``binaries`` maps roles to sha256; ``metadata`` the launch properties that differ to the
    two sides' values; ``omitted`` the distributions that were not tried to the reason.
    """

    case: str
    state: State
    side: str = ""
    reason: str = ""
    trials: tuple[TrialResult, ...] = ()
    speed: Speed | None = None
    resources: dict[str, Resources] = msgspec.field(default_factory=dict)
    binaries: dict[str, str] = msgspec.field(default_factory=dict)
    metadata: dict[str, tuple[str, str]] = msgspec.field(default_factory=dict)
    omitted: dict[str, str] = msgspec.field(default_factory=dict)
    seconds: float = 0.0
    gpu: str = ""

    @property
    def verdict(self) -> str:
        """The state as text, e.g. ``WRONG(plugin)``."""
        return f"{self.state.value}({self.side})" if self.side else self.state.value

    @property
    def launched(self) -> bool:
        """Whether anything was measured."""
        return self.state is not State.SKIPPED

    @property
    def slower(self) -> bool:
        """Whether the candidate is slower than the reference beyond noise."""
        return self.speed is not None and self.speed.verdict == "slower"


class Device(Record, frozen=True):
    """The GPU and what drove it."""

    name: str
    arch: str
    driver: str
    cuda: str
    torch: str
    numpy: str
    memory: int
    l2_bytes: int


class ParityReport(Record, frozen=True):
    """One parity run: the contents of ``parity.json``. ``gpus`` are the devices by slot."""

    version: int
    bundle: str
    started: str
    seconds: float
    toolchains: dict[str, ToolchainStamp]
    gpus: dict[str, Device]
    results: tuple[ParityResult, ...]

    def counts(self) -> dict[str, int]:
        """How many cases ended in each verdict, most first."""
        found: dict[str, int] = {}
        for result in self.results:
            found[result.verdict] = found.get(result.verdict, 0) + 1
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def findings(self) -> list[ParityResult]:
        """The cases that are not as they should be: not equal, slower, or not launched.

        A case that was compiled for another architecture than the GPUs' is none.
        """
        archs = {device.arch for device in self.gpus.values()}
        return [
            result
            for result in self.results
            if (result.launched or result.case.rpartition("@")[2] in archs)
            and (result.state is not State.BITWISE_EQUAL or result.slower)
        ]


def load_report(path: Path) -> ParityReport:
    """Read a ``parity.json``; raises HarnessError if it is none or of another version."""
    again = "write it again with `tlx-equiv parity BUNDLE -o parity.json`"
    try:
        report = msgspec.json.decode(path.read_bytes(), type=ParityReport)
    except OSError as error:
        raise HarnessError(f"parity report {path}", error.strerror or str(error), again) from error
    except msgspec.MsgspecError as error:
        raise HarnessError(f"parity report {path}", f"not a report: {error}", again) from error
    if report.version != REPORT_VERSION:
        raise HarnessError(
            f"parity report {path}",
            f"has version {report.version}, this tool reads {REPORT_VERSION}",
            again,
        )
    return report
