"""Explaining a case that differs: where, whose, what and how much.

``explain`` is the whole of it. Each part stands alone: one that cannot be done leaves its
reason in ``gaps`` and takes nothing from the rest.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from harness import compare
from harness.explain import attribute
from harness.explain.align import Read, align, measure, stage_of
from harness.explain.counts import compare_counts
from harness.explain.cross import graft
from harness.explain.crossings import cross_all
from harness.explain.grafts import Side, graft_all
from harness.explain.kinds import classify, summarise
from harness.explain.resources import resources
from harness.explanation import (
    AlignedPass,
    Birth,
    Count,
    Explanation,
    Graft,
    Resources,
)
from harness.model import Case, Comparison, Compilation, Hunk, Outcome
from harness.store import Store

__all__ = ["Side", "classify_hunks", "explain"]

GROWING = ("born", "grows")
MOST_KINDS = 6
Pair = tuple[str, str]


def explain(
    case: Case,
    left: Side,
    right: Side,
    comparisons: Sequence[Comparison],
    store: Store,
    disassemble: compare.Disassemble,
) -> Explanation:
    """Explain why ``left`` (the reference) and ``right`` differ on ``case``."""
    roles = left[2].role, right[2].role
    read = _reader(store, (left, right))
    rows: tuple[AlignedPass, ...] = ()
    births: tuple[Birth, ...] = ()
    grafts: tuple[Graft, ...] = ()
    gaps: list[str] = []
    if left[2].trace and right[2].trace:
        rows = align(left[2].trace, right[2].trace)
        rows = measure(rows, left[2].trace, right[2].trace, read)
        grafted = graft_all(rows, left, right, case, store, read)
        rows, grafts = grafted.rows, grafted.grafts
        births = _births(rows, grafted.outputs, left[2], right[2], read)
    else:
        sides = [side[2].role for side in (left, right) if not side[2].trace]
        gaps.append(f"no pass trace: {' and '.join(sides)} ran no pass")
    both = all(side[2].outcome is Outcome.OK for side in (left, right))
    matrix = cross_all(case, left, right, store) if both else ()
    if both:
        attributions, evidence = attribute.attribute(births, rows, matrix, comparisons, roles)
    else:
        attributions, evidence = attribute.attribute_failure(
            {side[2].role: side[2] for side in (left, right)},
            births,
            rows,
            _accepted_elsewhere(case, left, right, store, read),
        )
    gaps += [f"{cell.front} through {cell.back}: {cell.void}" for cell in matrix if cell.void]
    gaps += dict.fromkeys(f"{row.name}: {row.note}" for row in rows if row.note)
    gaps += [
        f"{row.name}: the difference {row.event} there, but it could not be grafted"
        for row in rows
        if row.event in GROWING and row.behaviour == "not grafted"
    ]
    return Explanation(
        rows=rows,
        births=births,
        failing_pass="; ".join(
            f"{c.role}: {c.failure.pass_name or c.failure.phase}"
            for c in (left[2], right[2])
            if c.failure is not None
        ),
        matrix=matrix,
        grafts=grafts,
        attributions=attributions,
        evidence=evidence,
        same_back_end=attribute.same_back_end(matrix, roles),
        counts=_counts(case, left[2], right[2], store),
        resources=_resources(case, (left[2], right[2]), store, disassemble),
        gaps=tuple(gaps),
    )


def classify_hunks(comparison: Comparison, roles: tuple[str, str]) -> Comparison:
    """The comparison with a kind and a significance at each hunk."""
    hunks = tuple(classify(comparison.stage, hunk, roles) for hunk in comparison.hunks)
    return msgspec.structs.replace(comparison, hunks=hunks)


def _reader(store: Store, sides: Sequence[Side]) -> Read:
    """Reads the IR of either side's trace, and what grafting has put into the store."""
    cache: dict[str, bytes | None] = {}
    kept: dict[str, Read] = {}
    for side in sides:
        texts = store.snapshots(side[2].key)
        kept |= {step.sha256: texts for step in side[2].trace}

    def read(sha: str) -> bytes | None:
        if sha not in cache:
            cache[sha] = kept.get(sha, store.get)(sha)
        return cache[sha]

    return read


def _births(
    rows: Sequence[AlignedPass],
    outputs: dict[int, tuple[str, str]],
    left: Compilation,
    right: Compilation,
    read: Read,
) -> tuple[Birth, ...]:
    """Where the difference comes from, in pipeline order (see Birth for what counts)."""
    found: list[Birth] = []

    def born(number: int, by: str, event: str, pair: Pair, before: Pair | None = None) -> None:
        row = rows[number]
        stage = stage_of(row.manager)
        known = set(_kinds(stage, before, roles, read, set())[0]) if before else set()
        kinds, example = _kinds(stage, pair, roles, read, known)
        found.append(
            Birth(
                row=number,
                manager=row.manager,
                pass_name=row.name,
                event=event or "born",
                by=by,
                kinds=kinds,
                example_left="\n".join(example.left[:3]) if example else "",
                example_right="\n".join(example.right[:3]) if example else "",
            )
        )

    roles = left.role, right.role
    alone: list[int] = []  # passes of one side only, since the last pass of both, that act
    moved: dict[int, tuple[int, int]] = {}  # a moved pass: where it ends, difference before
    before: Pair | None = None
    size = 0  # the last known difference after a pass of both sides
    for number, row in enumerate(rows):
        if row.left is None or row.right is None:
            if number in outputs:  # a moved pass that also behaves differently
                born(number, "graft", "born", outputs[number])
            elif row.behaviour != "same" and _acts(row, left, right):
                alone.append(number)
            elif row.partner is not None and row.partner > number:
                moved[number] = row.partner, size
            continue
        pair = left.trace[row.left].sha256, right.trace[row.right].sha256
        if row.manager == "front end":
            continue
        if before is None and row.difference and _made_before(row, rows[0]):
            born(0, "front end", "born", pair)
        elif number in outputs:
            born(number, "graft", row.event, outputs[number])
        elif row.event in GROWING and alone:
            born(alone[-1], "only here", row.event, pair, before)
        else:
            for first, (last, was) in list(moved.items()):
                if number > last:
                    del moved[first]
                    if (row.difference or 0) > was:
                        born(first, "moved", "born", pair)
        before, alone = pair, []
        size = size if row.difference is None else row.difference
    return tuple(found)


def _made_before(first: AlignedPass, front_end: AlignedPass) -> bool:
    """Whether the difference after the first pass of both sides comes from the front ends: the
    pass is not to blame, or could not be tried on IR that is different before it."""
    return first.behaviour == "same" or (
        first.behaviour != "differs" and bool(front_end.difference)
    )


def _kinds(
    stage: str, pair: Pair, roles: tuple[str, str], read: Read, known: set[str]
) -> tuple[tuple[str, ...], Hunk | None]:
    """The kinds of difference between two IR texts, less those ``known``, and a telling hunk."""
    hunks, _ = compare.hunks(stage, read(pair[0]) or b"", read(pair[1]) or b"", 40)
    hunks = tuple(classify(stage, hunk, roles) for hunk in hunks)
    kinds = tuple(kind for kind in summarise(hunks) if kind not in known)
    fresh = [hunk for hunk in hunks if not known.intersection(summarise((hunk,)))] or hunks
    telling = [hunk for hunk in fresh if hunk.significance == "significant"] or fresh
    if len(kinds) > MOST_KINDS:
        kinds = (*kinds[:MOST_KINDS], f"{len(kinds) - MOST_KINDS} more kinds")
    return kinds, telling[0] if telling else None


def _acts(row: AlignedPass, left: Compilation, right: Compilation) -> bool:
    """Whether a pass of one side changed that side's IR at all."""
    trace, at = (left.trace, row.left) if row.left is not None else (right.trace, row.right)
    return at is not None and at > 0 and trace[at].sha256 != trace[at - 1].sha256


def _accepted_elsewhere(
    case: Case, left: Side, right: Side, store: Store, read: Read
) -> bool | None:
    """Whether the other side's pass takes the IR on which a side failed; None if untried."""
    for side, other in ((left, right), (right, left)):
        failure = side[2].failure
        if failure is None or not failure.pass_name or not side[2].trace:
            continue
        step = next((s for s in other[2].trace if s.name == failure.pass_name), None)
        if step is None:
            return None
        given = side[2].trace[-1].sha256
        done = graft(other[0], other[1], case, [("failed", step, given)], store, read)
        return "failed" in done.outputs
    return None


def _counts(case: Case, left: Compilation, right: Compilation, store: Store) -> tuple[Count, ...]:
    found: list[Count] = []
    for stage in case.target.stages[:-1]:
        texts = [store.read(side.artifacts.get(stage)) for side in (left, right)]
        if texts[0] is not None and texts[1] is not None:
            found += compare_counts(stage, texts[0].decode(), texts[1].decode())
    return tuple(found)


def _resources(
    case: Case,
    sides: Sequence[Compilation],
    store: Store,
    disassemble: compare.Disassemble,
) -> dict[str, Resources]:
    found = {}
    text, stage = case.target.stages[-2:]
    for side in sides:
        binary = store.read(side.artifacts.get(stage))
        metadata = store.read(side.artifacts.get("metadata"))
        if binary is None or metadata is None:
            continue
        assembly = store.read(side.artifacts.get(text)) or b""
        listing = disassemble(binary) if stage == "cubin" else assembly.decode()
        found[side.role] = resources(case.target, binary, listing, msgspec.json.decode(metadata))
    return found
