"""Grafting along aligned passes: is it the pass, or what it was given?"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from harness.compare import difference_size
from harness.compile import Worker
from harness.explain.align import Read, stage_of
from harness.explain.cross import Grafted, graft
from harness.explanation import AlignedPass, Graft
from harness.model import Case, Compilation, PassStep
from harness.store import Store

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
    """Run each side's passes on the other side's IR, for every row that both sides run.

    A pass that changed nothing on either side is idle here, and shows nothing. Where both
    sides gave a pass the same IR, their outputs are compared as they are. A row
    differs only if the pass, run on its own side's IR in the same way, gives what it gave in
    the compilation; otherwise the graft is no evidence.
    """
    traces = left[2].trace, right[2].trace
    runs: dict[str, list[tuple[str, PassStep, str]]] = {"left": [], "right": []}
    pairs = {
        number: pair
        for number, pair in _pairs(rows).items()
        if any(_acts(trace, at) for trace, at in zip(traces, pair, strict=True))
    }
    for number, (at_left, at_right) in pairs.items():
        sources = traces[0][at_left - 1].sha256, traces[1][at_right - 1].sha256
        steps = traces[0][at_left], traces[1][at_right]
        if sources[0] == sources[1]:
            continue
        runs["right"].append((f"{number}", steps[1], sources[0]))
        runs["left"].append((f"{number}", steps[0], sources[1]))
        if rows[number].event:
            runs["right"].append((f"{number}-self", steps[1], sources[1]))
            runs["left"].append((f"{number}-self", steps[0], sources[0]))
    done = {
        name: graft(side[0], side[1], case, runs[name], store)
        for name, side in (("left", left), ("right", right))
    }
    judged = [_idle(row, traces) for row in rows]
    found = []
    outputs = dict[int, tuple[str, str]]()
    for number, (at_left, at_right) in pairs.items():
        row = rows[number]
        own_outputs = traces[0][at_left].sha256, traces[1][at_right].sha256
        verdicts = []
        if str(number) not in {item for item, _, _ in runs["right"]}:
            same = same_ir(stage_of(row.manager), own_outputs, read)
            verdicts.append({True: "same", False: "differs", None: "not grafted"}[same])
            outputs |= {number: own_outputs} if same is False else {}
        else:
            for name, side, mine, theirs in (
                ("right", right, own_outputs[1], own_outputs[0]),
                ("left", left, own_outputs[0], own_outputs[1]),
            ):
                result, note = _judge(row, str(number), done[name], (mine, theirs), read)
                verdicts.append(result)
                found.append(Graft(number, row.name, side[2].role, result, note))
                if result == "differs" and number not in outputs:
                    output = done[name].outputs[str(number)]
                    outputs[number] = (theirs, output) if name == "right" else (output, theirs)
        behaviour = "same" if set(verdicts) == {"same"} else "not grafted"
        behaviour = "differs" if "differs" in verdicts else behaviour
        for at in (number, *([] if row.partner is None else [row.partner])):
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
