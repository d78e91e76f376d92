"""Cases and kernels as the pages show them."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from harness.result import CaseResult, Run, Status
from reports.ladder import LADDER, Cause, Depth, Rung, causes_of, depth_of, rungs_of

ALARMS = (Status.NEW, Status.CHANGED, Status.BROKEN)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class CaseView:
    """One case as the pages show it."""

    result: CaseResult
    slug: str
    page: str
    status: Status
    depth: Depth
    rungs: tuple[Rung, ...]
    attribution: str
    causes: tuple[Cause, ...]

    @property
    def id(self) -> str:
        """The case's id."""
        return self.result.case.id

    @property
    def target(self) -> str:
        """The case's target, as text."""
        return str(self.result.case.target)

    @property
    def href(self) -> str:
        """The case's place, relative to the index."""
        return f"{self.page}#{self.slug}"

    def columns(self) -> list[Rung | None]:
        """The rungs under the columns of LADDER, None where the target has no such stage."""
        by_stage = {rung.stage: rung for rung in self.rungs}
        return [
            next((by_stage[stage] for stage in stages if stage in by_stage), None)
            for _, stages in LADDER
        ]

    @property
    def reason(self) -> str:
        """Why the case has its status: the reason of its worst judgement."""
        worst = [j for j in self.result.judgements if j.status is self.status]
        return worst[0].reason if worst else "not judged"


@dataclasses.dataclass(frozen=True, slots=True)
class KernelView:
    """One kernel and all its cases, in run order."""

    id: str
    family: str
    slug: str
    cases: tuple[CaseView, ...]

    @property
    def name(self) -> str:
        """The kernel's id without its family."""
        return self.id.removeprefix(f"{self.family}/")

    @property
    def statuses(self) -> list[tuple[Status, int]]:
        """How many cases have each status, the worst status first."""
        return statuses_of(self.cases)

    @property
    def page(self) -> str:
        """The kernel's page, relative to the index."""
        return f"kernel/{self.slug}.html"


def statuses_of(cases: Sequence[CaseView]) -> list[tuple[Status, int]]:
    """How many of ``cases`` have each status, the worst status first."""
    counts = Counter(case.status for case in cases)
    return [(status, counts[status]) for status in reversed(Status) if counts[status]]


def slugs(names: Iterable[str]) -> dict[str, str]:
    """A distinct name for each of ``names`` that is safe in a path, a URL and an HTML id."""
    given: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        if name not in given:
            slug = re.sub(r"[^A-Za-z0-9_.-]+", "-", name.replace("/", ".")).strip(".-")[:100]
            if not slug or slug.lower() in taken:
                slug += "-" + hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8]
            taken.add(slug.lower())
            given[name] = slug
    return given


def kernels_of(run: Run) -> tuple[KernelView, ...]:
    """Every kernel of the run, by family and name."""
    grouped: dict[str, list[CaseResult]] = defaultdict(list)
    for result in run.results:
        grouped[result.case.kernel].append(result)
    kernel_slugs = slugs(grouped)
    case_slugs = slugs(result.case.id for result in run.results)
    found = []
    for kernel, results in grouped.items():
        view = KernelView(kernel, results[0].case.family, kernel_slugs[kernel], ())
        cases = tuple(_case(result, case_slugs[result.case.id], view.page) for result in results)
        found.append(dataclasses.replace(view, cases=cases))
    return tuple(sorted(found, key=lambda kernel: (kernel.family, kernel.id)))


def _case(result: CaseResult, slug: str, page: str) -> CaseView:
    rungs = rungs_of(result)
    differs = any(rung.state not in ("identical", "equivalent") for rung in rungs)
    explanation = result.explanation
    return CaseView(
        result=result,
        slug=slug,
        page=page,
        status=result.status(),
        depth=depth_of(result, rungs),
        rungs=rungs,
        attribution=explanation.attributions[0]
        if explanation is not None and explanation.attributions and differs
        else "",
        causes=causes_of(result, rungs),
    )
