"""A session: two toolchains, a store and a ledger; evaluates one case at a time.

Both the command line and the pytest plugin evaluate cases here, so that a case is compiled
once, however many tests, threads or processes ask for it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from functools import cached_property

import filelock
import msgspec

from harness import checks, compare, coverage, explain, judge
from harness.compile import compile_case
from harness.errors import HarnessError
from harness.explanation import Explanation
from harness.ledger import Ledger
from harness.listings import Listings
from harness.model import Case, Comparison, Compilation, Outcome, ToolchainIdentity, Verdict
from harness.result import CaseResult
from harness.revision import revision
from harness.store import Store, digest
from harness.toolchains import (
    Controls,
    Descriptor,
    Finding,
    Toolchain,
    identify,
    inherited,
    known_descriptors,
    preflight,
    proof_problems,
)
from harness.workers import Limits, Worker

AGAIN = "-again"  # the name of a candidate that is meant to be the reference itself


class Session:
    """Evaluates cases with ``reference`` against ``candidate``.

    ``void`` says why nothing that this session measures would be a result (a plugin that is
    not loaded dynamically, two sides that are the same), or is empty. ``fresh`` compiles
    everything again, whatever is stored; ``explaining`` explains each case that differs.
    ``arguments`` are the options of ``tlx-equiv run`` that open the same session.
    """

    def __init__(
        self,
        reference: Toolchain,
        candidate: Toolchain,
        store: Store,
        ledger: Ledger,
        lane: str,
        controls: Controls,
        limits: Limits | None = None,
        fresh: bool = False,
        explaining: bool = True,
        arguments: tuple[str, ...] = (),
    ) -> None:
        self.roles = (reference.role, candidate.role)
        self.toolchains = {t.role: t for t in (reference, candidate)}
        self.store = store
        self.ledger = ledger
        self.lane = lane
        self.controls = controls
        self.fresh = fresh
        self.explaining = explaining
        self.arguments = arguments
        self.listings = Listings(candidate, store)
        # Children of one worker share its address space layout; a second opinion comes from
        # another worker, so that what depends on addresses shows.
        self._workers = {
            (toolchain.role, plain, again): Worker(toolchain, controls, limits, plain)
            for toolchain in (reference, candidate)
            for plain in (False, True)
            for again in (False, True)
        }

    @cached_property
    def findings(self) -> list[Finding]:
        """What is wrong, or worth saying, about how the sides load their plugins."""
        of_sides = [found for each in self.toolchains.values() for found in preflight(each)]
        return [*inherited(), *of_sides]

    @cached_property
    def identities(self) -> dict[str, ToolchainIdentity]:
        """Each side's identity, measured now; raises HarnessError if one cannot start."""
        for finding in self.findings:
            if finding.problem:
                raise finding.error()
        return {role: identify(toolchain) for role, toolchain in self.toolchains.items()}

    @cached_property
    def void(self) -> str:
        """See the class."""
        problems = [
            problem
            for role, toolchain in self.toolchains.items()
            for problem in proof_problems(self.identities[role], toolchain)
        ]
        prints = [identity.fingerprint for identity in self.identities.values()]
        if len(set(prints)) < len(prints) and self.roles[1] != self.roles[0] + AGAIN:
            problems.append("both sides are the same toolchain (equal fingerprints)")
        return "; ".join(problems)

    @cached_property
    def _foreign_rules(self) -> list[str]:
        return foreign_rules(d for each in self.toolchains.values() for d in each.descriptors)

    def close(self) -> None:
        """Stop the workers."""
        for worker in self._workers.values():
            worker.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def evaluate(self, case: Case) -> CaseResult:
        """Compile, compare, check, explain and judge one case; safe under concurrent callers."""
        first = self.compile(case)
        self.listings.prepare([first])
        return self.conclude(case, first)

    def surfaces(self) -> dict[str, coverage.Surface]:
        """Each side's public TLX names (see ``harness.coverage``)."""
        return {
            role: coverage.surface(
                self._workers[role, False, False], self.identities[role].fingerprint, self.store
            )
            for role in self.roles
        }

    def compile(self, case: Case) -> dict[str, Compilation]:
        """The first compilation of each side."""
        with self._lock(case):
            return {role: self._compile(case, role) for role in self.roles}

    def conclude(self, case: Case, first: dict[str, Compilation]) -> CaseResult:
        """Everything that follows from both sides' first compilations."""
        reference, candidate = (first[role] for role in self.roles)
        label, fingerprint = judge.outcome(reference, candidate)
        explanation = None
        with self._lock(case):
            comparisons = self._compare(case, reference, candidate)
            rechecked = any(c.verdict is Verdict.DIFFERENT for c in comparisons)
            if rechecked:
                comparisons = self._recheck(case, first, comparisons)
            comparisons = tuple(explain.classify_hunks(c, self.roles) for c in comparisons)
            if not (rechecked or _one_fails(reference, candidate)):
                for side in first.values():
                    self.store.drop_snapshots(side.key)
            elif self.explaining:
                explanation = self._explain(case, first, comparisons)
        checked = [check for side in first.values() for check in checks.run(case, side, self.store)]
        return CaseResult(
            case=case,
            outcome=label,
            outcome_fingerprint=fingerprint,
            compilations=first,
            comparisons=comparisons,
            judgements=judge.judge(
                case,
                list(first.values()),
                label,
                fingerprint,
                comparisons,
                checked,
                self.ledger,
                self.lane,
            ),
            checks=tuple(checked),
            rechecked=rechecked,
            explanation=explanation,
        )

    @contextlib.contextmanager
    def _lock(self, case: Case) -> Iterator[None]:
        locks = self.store.root / "locks"
        locks.mkdir(exist_ok=True)
        lock = filelock.FileLock(locks / f"{digest(case.id.encode())[:20]}.lock")
        with self.store.shared(), lock:
            yield

    def _compile(
        self, case: Case, role: str, again: bool = False, fresh: bool = False
    ) -> Compilation:
        fingerprint = self.identities[role].fingerprint
        if role.endswith(AGAIN):  # of one key with the reference it would be read, not compiled
            fingerprint += AGAIN
        return compile_case(
            self._workers[role, case.baseline, again],
            case,
            fingerprint,
            self.store,
            again=again,
            fresh=fresh or self.fresh,
            snapshots=self.explaining and not again,
            companions=[w for (_, plain, _), w in self._workers.items() if plain == case.baseline],
        )

    def _compare(
        self, case: Case, reference: Compilation, candidate: Compilation
    ) -> tuple[Comparison, ...]:
        found = []
        for stage in case.target.stages:
            comparison = self._compare_stage(stage, reference, candidate)
            found.append(comparison)
            if stage == "cubin" and comparison.verdict is Verdict.DIFFERENT:
                both = all("cubin" in side.artifacts for side in (reference, candidate))
                if both:
                    found.append(self._compare_stage("sass", reference, candidate))
        if all(side.outcome is Outcome.OK for side in (reference, candidate)):
            found.append(self._compare_stage("metadata", reference, candidate))
        return tuple(found)

    def _compare_stage(
        self, stage: str, reference: Compilation, candidate: Compilation
    ) -> Comparison:
        name = "cubin" if stage == "sass" else stage
        pair = [side.artifacts.get(name) for side in (reference, candidate)]
        shas = [artifact.sha256 if artifact else "-" for artifact in pair]
        parts = [stage, *shas, revision(compare), *self._foreign_rules]
        key = digest(":".join(parts).encode())
        known = self.store.load("compare", key, Comparison)
        if known is not None:
            return known
        left, right = (self.store.read(artifact) for artifact in pair)
        if (left is None, right is None) != (pair[0] is None, pair[1] is None):
            raise HarnessError(
                f"store {self.store.root}",
                f"an artifact of stage {name} was damaged or removed while it was needed",
                "run again: it is made again; if that recurs, give another folder with --store",
            )
        comparison = compare.compare(stage, left, right, self.listings, self._foreign_rules)
        self.store.save("compare", key, comparison)
        return comparison

    def _recheck(
        self, case: Case, first: dict[str, Compilation], comparisons: tuple[Comparison, ...]
    ) -> tuple[Comparison, ...]:
        """Compile both sides again, unstepped, and turn what moved into NONDETERMINISTIC."""
        moved: dict[str, list[str]] = {}
        for role in self.roles:
            again = self._compile(case, role, again=True)
            for stage in case.target.stages:
                pair = [c.artifacts.get(stage) for c in (first[role], again)]
                if pair[0] != pair[1]:
                    moved.setdefault(stage, []).append(role)
        return tuple(
            comparison
            if comparison.stage not in moved
            else msgspec.structs.replace(
                comparison,
                verdict=Verdict.NONDETERMINISTIC,
                side=", ".join(moved[comparison.stage]),
                note="a second compilation, in a fresh process and unstepped, gave other bytes",
            )
            for comparison in comparisons
        )

    def _explain(
        self,
        case: Case,
        first: dict[str, Compilation],
        comparisons: tuple[Comparison, ...],
    ) -> Explanation:
        verdicts = "".join(f"{c.stage}={c.verdict.value}" for c in comparisons)
        keys = [first[role].key for role in self.roles]
        key = digest(":".join([*keys, verdicts, revision(explain, compare)]).encode())
        known = self.store.load("explain", key, Explanation)
        if known is not None and not self.fresh:
            return known
        sides = []
        for role in self.roles:
            side = first[role]
            if side.trace and not self.store.has_snapshots(side.key):
                side = self._compile(case, role, fresh=True)
            worker = self._workers[role, case.baseline, False]
            sides.append((worker, self.identities[role].fingerprint, side))
        found = explain.explain(case, sides[0], sides[1], comparisons, self.store, self.listings)
        self.store.save("explain", key, found)
        return found


def _one_fails(reference: Compilation, candidate: Compilation) -> bool:
    return (reference.outcome is Outcome.OK) != (candidate.outcome is Outcome.OK)


def foreign_rules(present: Iterable[Descriptor]) -> list[str]:
    """Rules that exist for the sake of plugins other than those ``present``, and are not used.

    Raises HarnessError if a descriptor names a rule that there is not.
    """
    names = {descriptor.name for descriptor in present}
    owners = {rule: d.name for d in known_descriptors() for rule in d.rules}
    for rule, plugin in owners.items():
        if rule not in compare.RULES:
            raise HarnessError(
                f"plugin {plugin}", f"there is no rule {rule}", "correct its descriptor"
            )
    return sorted(rule for rule, plugin in owners.items() if plugin not in names)
