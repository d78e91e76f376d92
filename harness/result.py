"""What a run says of its cases: judgements, GPU parity, coverage, and the run itself.

Frozen records, as in ``harness.model``; ``Run`` is the contents of ``run.json``.
"""

from __future__ import annotations

import enum
import shlex
from collections.abc import Iterable, Iterator

from harness.explanation import Explanation
from harness.model import Case, Comparison, Compilation, ToolchainIdentity, Verdict
from harness.record import Record


class Status(str, enum.Enum):
    """What a verdict means for the run.

    ``PASS`` equal; ``EXPECTED`` in the ledger; ``REFUSED`` both sides refuse alike (agreement,
    never a pass unless the kernel was written to be refused); ``NEW`` not in the ledger;
    ``CHANGED`` in the ledger with another fingerprint; ``BROKEN`` could not be measured.
    """

    PASS = "pass"
    EXPECTED = "expected"
    REFUSED = "refused"
    NEW = "new"
    CHANGED = "changed"
    BROKEN = "broken"


class Judgement(Record, frozen=True):
    """One stage of one case, judged. ``stage`` may also be ``outcome``, ``check``, ``parity``
    or ``speed``.

    ``expectation`` is the id of the ledger entry that applied; ``reason`` its reason, or why
    the judgement is what it is.
    """

    stage: str
    status: Status
    verdict: str
    expectation: str = ""
    reason: str = ""


class BitsOf(Record, frozen=True):
    """One output of one input distribution, the two sides' bits compared."""

    distribution: str
    output: str
    elements: int
    differing: int = 0
    worst_ulp: int = 0
    first_index: tuple[int, ...] = ()


class SpeedOf(Record, frozen=True):
    """Both sides timed in turns: medians in microseconds, candidate over reference.

    ``low`` and ``high`` bound the ratio with 99 % confidence. ``verdict`` is ``same``,
    ``slower``, ``faster`` (the candidate), ``too short to time``, ``one binary`` or
    ``one side``; the last two have no ratio.
    """

    verdict: str
    medians: dict[str, float]
    ratio: float = 1.0
    low: float = 1.0
    high: float = 1.0

    @property
    def compared(self) -> bool:
        """Whether there is a ratio of two binaries."""
        return len(self.medians) == 2


class Parity(Record, frozen=True):
    """What launching both sides' binaries of a case on one GPU showed.

    ``state`` and ``side`` are those of ``harness.parity.result``, ``verdict`` both as text.
    ``truth`` maps a side (``both`` for one binary) to its largest error against the float64
    reference as a fraction of the bound; ``registers`` and ``local_bytes`` (spills and stack)
    are per thread, as loaded; ``omitted`` says of input distributions why they were not tried.
    """

    verdict: str
    state: str
    side: str = ""
    reason: str = ""
    bits: tuple[BitsOf, ...] = ()
    truth: dict[str, float] = {}
    speed: SpeedOf | None = None
    registers: dict[str, int] = {}
    local_bytes: dict[str, int] = {}
    omitted: dict[str, str] = {}
    device: str = ""


class CaseResult(Record, frozen=True):
    """Everything a run says about one case. ``outcome`` reads ``OK``, ``ERROR(plugin)``, ..."""

    case: Case
    outcome: str
    outcome_fingerprint: str
    compilations: dict[str, Compilation]
    comparisons: tuple[Comparison, ...]
    judgements: tuple[Judgement, ...]
    checks: tuple[Check, ...] = ()
    rechecked: bool = False
    explanation: Explanation | None = None
    parity: Parity | None = None

    def produced(self, stage: str) -> bool:
        """Whether both sides produced an artifact at ``stage``."""
        return all(side.produced(stage) for side in self.compilations.values())

    @property
    def deepest_equal(self) -> str:
        """The last stage of the ladder that is identical or equivalent, or ``""``."""
        good = (Verdict.IDENTICAL, Verdict.EQUIVALENT)
        equal = [c.stage for c in self.comparisons if c.verdict in good]
        return equal[-1] if equal else ""

    def status(self) -> Status:
        """The worst judgement of the case."""
        order = list(Status)
        return max((j.status for j in self.judgements), key=order.index, default=Status.BROKEN)


def reproduce(case: Case, options: Iterable[str]) -> str:
    """The command that runs this case alone, as a run with ``options`` did."""
    corpus = case.folder.removesuffix("/" + case.kernel)
    return shlex.join(["tlx-equiv", "run", case.id, "--corpus", corpus, *options])


class Check(Record, frozen=True):
    """A FileCheck file run on one side's stage: ``passed``, and FileCheck's words if not."""

    file: str
    stage: str
    role: str
    passed: bool
    message: str = ""


class LedgerProblem(Record, frozen=True):
    """A ledger entry that fails the run: stale, expired or malformed."""

    expectation: str
    kind: str
    message: str


class NameUse(Record, frozen=True):
    """What became, on one target, of the cases that use a public TLX name.

    ``compiled`` are the sides on which at least one of ``cases`` compiled, printed no
    error and held its checks; ``refusals`` has the words of each other side that has the name:
    on a case that it compiled all the same, or else on the one that uses least beside the name.
    """

    target: str
    cases: tuple[str, ...]
    compiled: tuple[str, ...] = ()
    refusals: dict[str, str] = {}


USE_STATES = {
    "compiled": "each side that has it compiles a use",
    "partly": "one side does, the other refuses or does without",
    "refused": "tried, and refused by each side",
    "untried": "no case tries it there",
}


class NameCoverage(Record, frozen=True):
    """A public TLX name: how each side that has it calls it, and its uses, by target."""

    name: str
    kind: str
    signatures: dict[str, str]
    uses: tuple[NameUse, ...] = ()

    @property
    def cases(self) -> tuple[str, ...]:
        """Every case that uses the name."""
        return tuple(case for use in self.uses for case in use.cases)

    @property
    def targets(self) -> tuple[str, ...]:
        """Where it is exercised: a case that uses it compiled there on at least one side."""
        return tuple(use.target for use in self.uses if use.compiled)

    @property
    def refusals(self) -> list[tuple[str, str, list[str]]]:
        """Each side's words, and the targets on which it says them."""
        targets: dict[tuple[str, str], list[str]] = {}
        for use in self.uses:
            for role, words in use.refusals.items():
                targets.setdefault((role, words), []).append(use.target)
        return [(role, words, where) for (role, words), where in targets.items()]

    def state(self, target: str) -> str:
        """What is known of the name on a target: a key of USE_STATES."""
        for use in self.uses:
            if use.target == target:
                if len(use.compiled) == len(self.signatures):
                    return "compiled"
                return "partly" if use.compiled else "refused"
        return "untried"


class Part(Record, frozen=True):
    """Which ``shares`` (counted from 1) ``of`` a divided set of cases a run has.

    ``plan`` identifies the division: the cases of every share, and the harness's code.
    """

    shares: tuple[int, ...]
    of: int
    plan: str

    def __str__(self) -> str:
        return f"shard {', '.join(map(str, self.shares))} of {self.of}"

    @property
    def missing(self) -> tuple[int, ...]:
        """The shares that it does not have; none if it is the whole."""
        return tuple(sorted(set(range(1, self.of + 1)) - set(self.shares)))


class Run(Record, frozen=True):
    """One execution over a set of cases: the contents of ``run.json``.

    ``options`` are those of ``tlx-equiv run`` that choose the same sides and lane.
    ``parity_device`` names the GPUs and driver of the parity results that were merged in.
    ``part`` is set where the cases were divided (``run --shard``): the ledger's own problems
    are then judged on the whole, when all shares are merged.
    """

    version: int
    started: str
    seconds: float
    lane: str
    command: str
    harness: str
    reference: str
    candidate: str
    toolchains: dict[str, ToolchainIdentity]
    controls: dict[str, str]
    results: tuple[CaseResult, ...]
    ledger_problems: tuple[LedgerProblem, ...] = ()
    broken: tuple[str, ...] = ()
    void: str = ""
    coverage: tuple[NameCoverage, ...] = ()
    parity_device: str = ""
    part: Part | None = None
    options: tuple[str, ...] = ()

    @property
    def covered_targets(self) -> tuple[str, ...]:
        """The targets on which any TLX name was tried, older architectures first."""
        tried = {use.target for entry in self.coverage for use in entry.uses}
        return tuple(sorted(tried, key=lambda name: (name.partition(":")[0], len(name), name)))

    def judgements(self) -> Iterator[tuple[CaseResult, Judgement]]:
        """Every judgement with its case, in run order."""
        for result in self.results:
            for judgement in result.judgements:
                yield result, judgement


RUN_VERSION = 1
