"""A session: two toolchains, a store and a ledger; evaluates one case at a time.

Both the command line and the pytest plugin evaluate cases here, so that a case is compiled
once, however many tests, threads or processes ask for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType

import filelock
import msgspec

from harness import checks, compare, coverage, explain, judge
from harness.compile import Limits, Worker, compile_case
from harness.errors import HarnessError
from harness.explanation import Explanation
from harness.ledger import Ledger
from harness.model import (
    Artifact,
    Case,
    CaseResult,
    Comparison,
    Compilation,
    Outcome,
    ToolchainIdentity,
    Verdict,
)
from harness.store import Store, digest
from harness.toolchains import Controls, Toolchain, identify, proof_problems, tools

AGAIN = "-again"  # the name of a candidate that is meant to be the reference itself


class Session:
    """Evaluates cases with ``reference`` against ``candidate``.

    ``void`` says why nothing that this session measures would be a result (a plugin that is
    not loaded dynamically, two sides that are the same), or is empty. ``fresh`` compiles
    everything again, whatever is stored; ``explaining`` explains each case that differs.
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
    ) -> None:
        self.roles = (reference.role, candidate.role)
        self.toolchains = {t.role: t for t in (reference, candidate)}
        self.store = store
        self.ledger = ledger
        self.lane = lane
        self.controls = controls
        self.fresh = fresh
        self.explaining = explaining
        # Children of one worker share its address space layout; a second opinion comes from
        # another worker, so that what depends on addresses shows.
        self._workers = {
            (toolchain.role, plain, again): Worker(toolchain, controls, limits, plain)
            for toolchain in (reference, candidate)
            for plain in (False, True)
            for again in (False, True)
        }

    @cached_property
    def identities(self) -> dict[str, ToolchainIdentity]:
        """Each side's identity, measured now; raises HarnessError if one cannot start."""
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

    def close(self) -> None:
        """Stop the workers."""
        for worker in self._workers.values():
            worker.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def evaluate(self, case: Case) -> CaseResult:
        """Compile, compare, check and judge one case; safe under concurrent callers."""
        locks = self.store.root / "locks"
        locks.mkdir(exist_ok=True)
        with filelock.FileLock(locks / f"{digest(case.id.encode())[:20]}.lock"):
            first = {role: self._compile(case, role) for role in self.roles}
            reference, candidate = (first[role] for role in self.roles)
            label, fingerprint = judge.outcome(reference, candidate)
            comparisons = self._compare(case, reference, candidate)
            rechecked = any(c.verdict is Verdict.DIFFERENT for c in comparisons)
            if rechecked:
                comparisons = self._recheck(case, first, comparisons)
            comparisons = tuple(explain.classify_hunks(c, self.roles) for c in comparisons)
            explanation = None
            if self.explaining and (rechecked or _one_fails(reference, candidate)):
                explanation = self._explain(case, reference, candidate, comparisons)
        checked = [
            check
            for compilation in first.values()
            for check in checks.run(case, compilation, self.store)
        ]
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

    def evaluate_all(
        self,
        cases: Sequence[Case],
        jobs: int,
        done: Callable[[Case, CaseResult | HarnessError], None],
    ) -> list[CaseResult]:
        """Evaluate ``cases``, ``jobs`` at a time; results in the order of ``cases``.

        ``done`` hears of each case as it ends. A case that cannot be evaluated costs only
        itself.
        """
        results: dict[str, CaseResult] = {}
        with ThreadPoolExecutor(jobs) as pool:
            futures = {pool.submit(self.evaluate, case): case for case in cases}
            try:
                for future in as_completed(futures):
                    case = futures[future]
                    error = future.exception()
                    if isinstance(error, HarnessError):
                        done(case, error)
                    else:
                        results[case.id] = future.result()
                        done(case, results[case.id])
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                self.close()
                raise
        return [results[case.id] for case in cases if case.id in results]

    def surfaces(self) -> dict[str, coverage.Surface]:
        """Each side's public TLX names (see ``harness.coverage``)."""
        return {
            role: coverage.surface(
                self._workers[role, False, False], self.identities[role].fingerprint, self.store
            )
            for role in self.roles
        }

    def _compile(self, case: Case, role: str, again: bool = False) -> Compilation:
        fingerprint = self.identities[role].fingerprint
        return compile_case(
            self._workers[role, case.baseline, again],
            case,
            fingerprint,
            self.store,
            again=again,
            fresh=self.fresh,
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
        key = digest(":".join([stage, *shas, _code_version(compare)]).encode())
        known = self.store.load("compare", key, Comparison)
        if known is not None:
            return known
        left, right = (self.store.read(artifact) for artifact in pair)
        comparison = compare.compare(stage, left, right, self._disassemble)
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
        reference: Compilation,
        candidate: Compilation,
        comparisons: tuple[Comparison, ...],
    ) -> Explanation:
        verdicts = "".join(f"{c.stage}={c.verdict.value}" for c in comparisons)
        parts = [reference.key, candidate.key, verdicts, _code_version(explain, compare)]
        key = digest(":".join(parts).encode())
        known = self.store.load("explain", key, Explanation)
        if known is not None and not self.fresh:
            return known
        sides = [
            (self._workers[c.role, case.baseline, False], self.identities[c.role].fingerprint, c)
            for c in (reference, candidate)
        ]
        found = explain.explain(
            case, sides[0], sides[1], comparisons, self.store, self._disassemble
        )
        self.store.save("explain", key, found)
        return found

    def _disassemble(self, cubin: bytes) -> str:
        """The SASS of a cubin, kept in the store: several steps of one case ask for it."""
        key = digest(cubin)
        known = self.store.load("sass", key, Artifact)
        text = self.store.read(known)
        if text is None:
            text = tools(self.toolchains[self.roles[1]]).disassemble(cubin).encode()
            self.store.save("sass", key, self.store.put(text))
        return text.decode()


def _one_fails(reference: Compilation, candidate: Compilation) -> bool:
    return (reference.outcome is Outcome.OK) != (candidate.outcome is Outcome.OK)


@cache
def _code_version(*packages: ModuleType) -> str:
    """The hash of the code that decides, so that a stored decision is never stale."""
    sources = [
        path
        for package in packages
        for path in sorted(Path(str(package.__file__)).parent.glob("*.py"))
    ]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
