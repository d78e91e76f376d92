"""A night: what history keeps of a run, as plain records that need neither store nor database.

``night_of`` takes it from a run. Two records of one run are equal, byte for byte, and a night's
``id`` is the hash of its bytes.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Sequence

import msgspec

from harness.model import Case, Comparison, Compilation, ToolchainIdentity, Verdict
from harness.record import Record
from harness.result import CaseResult, Run, SpeedOf, Status

PINNED = "pinned"
CANARY = "canary"
NOT_PRODUCED = "NOT PRODUCED"
UNEXPECTED = (Status.NEW, Status.CHANGED, Status.BROKEN)
_EQUAL = (Verdict.IDENTICAL.value, Verdict.EQUIVALENT.value)
_JUDGED = ("check", "parity", "speed")  # stages whose judgement is all there is
_ADDRESS = re.compile("0x[0-9a-f]+")
_SUMMARY = "Failures have been detected"
_LINE = 200  # characters of what a compiler or an explanation says
_BIRTHS = 12
_SHORT = 16  # characters of a hash: enough to tell two artifacts of one case apart


class StageFacts(Record, frozen=True):
    """One stage of one case: its verdict, the fingerprint of the difference, how it was judged.

    ``status`` is None where the judgement on the outcome spoke for the stage.
    """

    stage: str
    verdict: str
    fingerprint: str = ""
    status: Status | None = None

    @property
    def equal(self) -> bool:
        """Whether the sides are equal there, by bytes or after rules."""
        passed = self.stage in _JUDGED and self.status is Status.PASS
        return passed or self.verdict in _EQUAL

    @property
    def measured(self) -> bool:
        """Whether there was anything to compare."""
        return self.verdict != NOT_PRODUCED


class SideFacts(Record, frozen=True):
    """One side of one case. ``said`` is the line that says why there is no binary, or an
    error that was printed all the same.
    ``key`` is that of its stored compilation; ``sizes`` and ``hashes``
    are of its artifacts by stage; registers, spills, stack and shared memory as in
    ``Resources``, ``spills`` being stores and loads."""

    outcome: str
    key: str
    seconds: float
    said: str = ""
    sizes: dict[str, int] = {}
    hashes: dict[str, str] = {}
    registers: int | None = None
    spills: int | None = None
    stack: int | None = None
    shared: int | None = None
    instructions: int | None = None


class CaseFacts(Record, frozen=True):
    """One case. ``definition`` is the hash of all that its corpus says of it; ``attributions``
    and ``births`` say whose its difference is and where it is born, what matters most first;
    ``crossing`` whether the reference's back end turns the candidate's TTGIR into the
    reference's own assembly (``yes``, ``no``, ``unknown``)."""

    case: str
    kernel: str
    definition: str
    outcome: str
    outcome_fingerprint: str
    status: Status
    stages: tuple[StageFacts, ...]
    sides: dict[str, SideFacts]
    attributions: tuple[str, ...] = ()
    births: tuple[str, ...] = ()
    crossing: str = "unknown"
    speed: SpeedOf | None = None
    outcome_status: Status | None = None

    def stage(self, name: str) -> StageFacts | None:
        """What is known of a stage, or None."""
        return next((facts for facts in self.stages if facts.stage == name), None)

    @property
    def unexpected(self) -> bool:
        """Whether anything about it is neither equal nor expected."""
        return self.status in UNEXPECTED

    @property
    def binary(self) -> StageFacts | None:
        """The stage of the binary."""
        return self.stage("cubin") or self.stage("hsaco")


class ToolchainFacts(Record, frozen=True):
    """A toolchain: what distinguishes it, and its distributions of Triton in words."""

    fingerprint: str
    distributions: tuple[str, ...]


class Night(Record, frozen=True):
    """A recorded run. Nights of one ``series`` can be compared.

    ``channel`` is ``pinned`` or ``canary``; ``arguments`` are the options, each with its value,
    that make ``tlx-equiv run`` use the same toolchains, corpora and lane; ``names`` maps a public
    TLX name to the sides that have it; ``exit_status`` is the run's; ``device`` names the GPUs
    of its parity results.
    """

    channel: str
    started: str
    seconds: float
    lane: str
    harness: str
    reference: str
    candidate: str
    toolchains: dict[str, ToolchainFacts]
    cases: tuple[CaseFacts, ...]
    names: dict[str, tuple[str, ...]] = {}
    arguments: tuple[str, ...] = ()
    exit_status: int = 0
    void: str = ""
    device: str = ""

    @property
    def id(self) -> str:
        """The sha256 of the record."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()

    @property
    def series(self) -> tuple[str, str, str, str]:
        """What must agree for two nights to be comparable: channel, pair and lane."""
        return (self.channel, self.reference, self.candidate, self.lane)

    def command(self, case: str) -> str:
        """What to type to see a case again as it was in this night."""
        return shlex.join(["tlx-equiv", "run", case, *self.arguments])

    def bisection(self, case: str, role: str) -> str:
        """What to type to find the version of a side at which a case's verdict changed."""
        pairs = zip(self.arguments[::2], self.arguments[1::2], strict=True)
        kept = [word for name, value in pairs if name != "--toolchain" for word in (name, value)]
        return shlex.join(["tlx-equiv", "bisect", case, "--over", role, *kept])


def night_of(run: Run, channel: str, exit_status: int, arguments: Sequence[str] = ()) -> Night:
    """What history keeps of ``run``."""
    return Night(
        channel=channel,
        started=run.started,
        seconds=run.seconds,
        lane=run.lane,
        harness=run.harness,
        reference=run.reference,
        candidate=run.candidate,
        toolchains={role: _toolchain(identity) for role, identity in run.toolchains.items()},
        cases=tuple(_case(result) for result in run.results),
        names={entry.name: tuple(entry.signatures) for entry in run.coverage},
        arguments=tuple(arguments),
        exit_status=exit_status,
        void=run.void,
        device=run.parity_device,
    )


def _toolchain(identity: ToolchainIdentity) -> ToolchainFacts:
    of_triton = [d for d in identity.distributions if "triton" in d.lower()]
    return ToolchainFacts(identity.fingerprint, tuple(of_triton) or identity.distributions)


def _case(result: CaseResult) -> CaseFacts:
    judged = {judgement.stage: judgement for judgement in result.judgements}
    stages = [
        _stage(result, comparison, judged[comparison.stage].status)
        if comparison.stage in judged
        else _stage(result, comparison, None)
        for comparison in result.comparisons
    ]
    stages += [
        StageFacts(
            stage,
            NOT_PRODUCED if judgement.status is Status.BROKEN else judgement.verdict,
            "" if judgement.status is Status.PASS else judgement.verdict,
            judgement.status,
        )
        for stage, judgement in judged.items()
        if stage in _JUDGED
    ]
    outcome = judged.get("outcome")
    differs = result.outcome != "OK" or any(s.measured and not s.equal for s in stages)
    explanation = result.explanation if differs else None
    births = explanation.births if explanation is not None else ()
    return CaseFacts(
        case=result.case.id,
        kernel=result.case.kernel,
        definition=_definition(result.case),
        outcome=result.outcome,
        outcome_fingerprint=result.outcome_fingerprint,
        status=result.status(),
        stages=tuple(stages),
        sides={role: _side(result, role, made) for role, made in result.compilations.items()},
        attributions=explanation.attributions if explanation is not None else (),
        births=tuple(f"{b.pass_name}: {', '.join(b.kinds[:2])}"[:_LINE] for b in births[:_BIRTHS]),
        crossing=explanation.same_back_end if explanation is not None else "unknown",
        speed=result.parity.speed if result.parity is not None else None,
        outcome_status=outcome.status if outcome is not None else None,
    )


def _stage(result: CaseResult, comparison: Comparison, status: Status | None) -> StageFacts:
    if not result.produced(comparison.stage):
        return StageFacts(comparison.stage, NOT_PRODUCED, status=status)
    verdict = comparison.verdict.value
    if comparison.verdict is Verdict.NONDETERMINISTIC:  # what differs varies from run to run
        return StageFacts(comparison.stage, f"{verdict}({comparison.side})", status=status)
    return StageFacts(comparison.stage, verdict, comparison.fingerprint, status)


def _side(result: CaseResult, role: str, compilation: Compilation) -> SideFacts:
    found = result.explanation.resources.get(role) if result.explanation is not None else None
    facts = SideFacts(
        outcome=compilation.outcome.value,
        key=compilation.key,
        seconds=compilation.seconds,
        said=_said(compilation),
        sizes={stage: artifact.size for stage, artifact in compilation.artifacts.items()},
        hashes={stage: a.sha256[:_SHORT] for stage, a in compilation.artifacts.items()},
    )
    if found is None:
        return facts
    spills = [n for n in (found.spill_stores, found.spill_loads) if n is not None]
    return msgspec.structs.replace(
        facts,
        registers=found.registers,
        spills=sum(spills) if spills else None,
        stack=found.stack,
        shared=found.shared,
        instructions=found.instructions,
    )


def _said(compilation: Compilation) -> str:
    """What the compiler says of a failure, or of a success all the same, in one line."""
    failure = compilation.failure
    # A front end's own words come after the source that it quotes, which a caret ends.
    said = failure.message.rpartition("^\n")[2] if failure else compilation.printed_errors
    lines = [line.strip() for line in said.splitlines() if line.strip(" ^")]
    errors = [line for line in lines if "error: " in line and _SUMMARY not in line]
    first = (errors or lines or [failure.signal or "no message" if failure else ""])[0]
    return _ADDRESS.sub("0x…", first)[:_LINE]


def _definition(case: Case) -> str:
    """The hash of a case, wherever its corpus lies."""
    placeless = msgspec.structs.replace(case, folder="")
    return hashlib.sha256(msgspec.json.encode(placeless)).hexdigest()[:_SHORT]
