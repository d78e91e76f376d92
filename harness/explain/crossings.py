"""The matrix of crossings: each side's TTGIR through each side's back end."""

from __future__ import annotations

import msgspec

from harness.compare import equivalent
from harness.explain.cross import cross
from harness.explain.grafts import Side
from harness.explanation import Crossing
from harness.model import Case
from harness.store import Store


def cross_all(case: Case, left: Side, right: Side, store: Store) -> tuple[Crossing, ...]:
    """Each side's TTGIR through each side's back end, the self-crossings being the control."""
    cells = []
    for back, front in ((left, right), (right, left)):
        other = _cell(case, front, back, (left, right), store)
        if back[2].role in other.equals:
            own = Crossing(
                back[2].role,
                back[2].role,
                equals=(back[2].role,),
                note=f"not run: {front[2].role}'s TTGIR came through to the same code",
            )
        else:
            own = _cell(case, back, back, (left, right), store)
            if not own.void and back[2].role not in own.equals:
                void = "feeding a side its own TTGIR does not reproduce its own assembly"
                own = msgspec.structs.replace(own, void=void)
            other = msgspec.structs.replace(other, void=other.void or own.void)
        cells += [own, other]
    return tuple(cells)


def _cell(case: Case, front: Side, back: Side, sides: tuple[Side, Side], store: Store) -> Crossing:
    """``front``'s TTGIR through ``back``'s back end, and which side's assembly came out."""
    roles = front[2].role, back[2].role
    handover = front[2].artifacts.get("handover")
    if handover is None:
        return Crossing(*roles, void="no module reached the back end")
    crossed = cross(back[0], back[1], case, handover.sha256, store)
    stage = case.target.stages[-2]
    ours = crossed.artifacts.get(stage)
    equals = []
    for side in sides:
        theirs = side[2].artifacts.get(stage)
        if ours and theirs and _equal(stage, ours, theirs.sha256, store):
            equals.append(side[2].role)
    return Crossing(
        *roles,
        artifacts=crossed.artifacts,
        equals=tuple(equals),
        rewrites=tuple(filter(None, [crossed.rewrites])),
        void=crossed.failure,
    )


def _equal(stage: str, left: str, right: str, store: Store) -> bool:
    if left == right:
        return True
    texts = store.get(left), store.get(right)
    return bool(texts[0] and texts[1] and equivalent(stage, texts[0], texts[1]))
