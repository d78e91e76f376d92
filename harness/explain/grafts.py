"""Grafting along aligned passes: is it the pass, or what it was given?"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from harness.compare import difference_size
from harness.explain.align import Read, stage_of
from harness.explain.cross import Grafted, graft
from harness.explanation import AlignedPass, Graft
from harness.model import Case, Compilation, PassStep
from harness.store import Store
from harness.workers import Worker

Side = tuple[Worker, str, Compilation]


class Grafts(msgspec.Struct, frozen=True):
    """Rows with their ``behaviour``, each single graft, and the outputs of those that differ.

    ``outputs`` maps a row to what each side made of the *same* input there (two hashes).
    """

    rows: tuple[AlignedPass, ...]
    grafts: tuple[Graft, ...]
    outputs: dict[int, tuple[str, str]]


def graft_all(
    rows: Sequence[AlignedPass], left: Side, right: Side, case: Case, store: Store, read: Read
) -> Grafts:
    """Run the candidate's passes on the reference's IR, for every row that both sides run; and,
    where the difference changes but that does not show why, the reference's on the candidate's.

    A pass that changed nothing on either side is idle here, and shows nothing. Where both
    sides gave a pass the same IR, their outputs are compared as they are. A row
    differs only if the pass, run on its own side's IR in the same way, gives what it gave in
    the compilation; otherwise the graft is no evidence.
    """
    traces = left[2].trace, right[2].trace
    pairs = {
        number: pair
        for number, pair in _pairs(rows).items()
        if any(_acts(trace, at) for trace, at in zip(traces, pair, strict=True))
    }
    given = {n: (traces[0][i - 1].sha256, traces[1][j - 1].sha256) for n, (i, j) in pairs.items()}
    made = {n: (traces[0][i].sha256, traces[1][j].sha256) for n, (i, j) in pairs.items()}
    found: list[Graft] = []
    verdicts: dict[int, str] = {}
    outputs = dict[int, tuple[str, str]]()

    def run(runner: int, numbers: Sequence[int]) -> None:
        """Graft at these rows. A row is ``same`` only if every graft tried there says so."""
        side, other = (left, right)[runner], 1 - runner
        items = []
        for number in numbers:
            step = traces[runner][pairs[number][runner]]
            items.append((f"{number}", step, given[number][other]))
            if rows[number].event:
                items.append((f"{number}-self", step, given[number][runner]))
        done = graft(side[0], side[1], case, items, store, read)
        for number in numbers:
            own, others = made[number][runner], made[number][other]
            result, note = _judge(rows[number], f"{number}", done, (own, others), read)
            found.append(Graft(number, rows[number].name, side[2].role, result, note))
            if result == "differs":
                output = done.outputs[f"{number}"]
                outputs[number] = (others, output) if runner else (output, others)
            if verdicts.get(number, "same") == "same" or result == "differs":
                verdicts[number] = result

    for number in [n for n in pairs if given[n][0] == given[n][1]]:
        same = same_ir(stage_of(rows[number].manager), made[number], read)
        verdicts[number] = {True: "same", False: "differs", None: "not grafted"}[same]
        if same is False:
            outputs[number] = made[number]
    other_input = [number for number in pairs if number not in verdicts]
    run(1, other_input)
    run(0, [n for n in other_input if rows[n].event and verdicts[n] != "differs"])
    judged = [_idle(row, traces) for row in rows]
    for number, behaviour in verdicts.items():
        partner = rows[number].partner
        for at in (number, *([] if partner is None else [partner])):
            judged[at] = msgspec.structs.replace(judged[at], behaviour=behaviour)
    return Grafts(tuple(judged), tuple(found), outputs)


def same_ir(stage: str, pair: tuple[str, str], read: Read) -> bool | None:
    """Whether two IR texts are equal after all rules; None if one was not kept."""
    if pair[0] == pair[1]:
        return True
    texts = read(pair[0]), read(pair[1])
    if texts[0] is None or texts[1] is None:
        return None
    return difference_size(stage, texts[0], texts[1]) == 0


def _acts(trace: Sequence[PassStep], at: int) -> bool:
    return trace[at].sha256 != trace[at - 1].sha256


def _idle(row: AlignedPass, traces: tuple[Sequence[PassStep], Sequence[PassStep]]) -> AlignedPass:
    """The row, marked if its pass changed nothing on any side that runs it."""
    ran = [(trace, at) for trace, at in zip(traces, (row.left, row.right), strict=True) if at]
    idle = bool(ran) and not any(_acts(trace, at) for trace, at in ran)
    return msgspec.structs.replace(row, behaviour="idle") if idle else row


def _pairs(rows: Sequence[AlignedPass]) -> dict[int, tuple[int, int]]:
    """The passes that both sides run, by row: indices into the two traces, the first row of
    each trace (which is no pass) left out; a moved pass is at its reference row."""
    found = {}
    for number, row in enumerate(rows):
        right = row.right
        if row.left and row.partner is not None:
            right = rows[row.partner].right
        if row.left and right:
            found[number] = row.left, right
    return found


def _judge(
    row: AlignedPass, item: str, done: Grafted, outputs: tuple[str, str], read: Read
) -> tuple[str, str]:
    """What one graft shows: ``outputs`` are what its own side gave in the compilation, and
    what the other side's pass gave on the IR that was grafted."""
    stage = stage_of(row.manager)
    own_output, other_output = outputs
    if item in done.errors:
        return "not grafted", done.errors[item]
    same = same_ir(stage, (done.outputs[item], other_output), read)
    if same is None:
        return "not grafted", "the IR was hashed, not kept: too large"
    if same:
        return "same", ""
    control = f"{item}-self"
    if control in done.errors:
        return "not grafted", f"its control failed: {done.errors[control]}"
    reproduced = done.outputs.get(control, own_output)
    if not same_ir(stage, (reproduced, own_output), read):
        return "not grafted", "its control, the pass on its own side's IR, gave other IR"
    return "differs", ""
