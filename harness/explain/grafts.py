"""Grafting along aligned passes: is it the pass, or what it was given?"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from harness.compare import difference_size
from harness.compile import Worker
from harness.explain.align import Read
from harness.explain.cross import graft
from harness.explanation import AlignedPass, Graft
from harness.model import Case, Compilation, PassStep
from harness.store import Store

Side = tuple[Worker, str, Compilation]
STAGE = "ttgir"  # every pass's IR is MLIR, compared by the rules of this stage


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

    Where both sides gave a pass the same IR, their outputs are compared as they are. A row
    differs only if the pass, run on its own side's IR in the same way, gives what it gave in
    the compilation; otherwise the graft is no evidence.
    """
    traces = left[2].trace, right[2].trace
    runs: dict[str, list[tuple[str, PassStep, str]]] = {"left": [], "right": []}
    direct: dict[int, tuple[str, str]] = {}
    for number, row in enumerate(rows):
        if row.left is None or row.right is None or not (row.left and row.right):
            continue
        sources = traces[0][row.left - 1].sha256, traces[1][row.right - 1].sha256
        steps = traces[0][row.left], traces[1][row.right]
        if sources[0] == sources[1]:
            direct[number] = steps[0].sha256, steps[1].sha256
            continue
        runs["right"].append((f"{number}", steps[1], sources[0]))
        runs["left"].append((f"{number}", steps[0], sources[1]))
        if row.event:
            runs["right"].append((f"{number}-self", steps[1], sources[1]))
            runs["left"].append((f"{number}-self", steps[0], sources[0]))
    done = {
        name: graft(side[0], side[1], case, runs[name], store)
        for name, side in (("left", left), ("right", right))
    }
    judged = list(rows)
    found = []
    outputs = dict[int, tuple[str, str]]()
    for number, row in enumerate(rows):
        if number in direct:
            same = _same(direct[number], read)
            judged[number] = _with(row, "same" if same else "differs" if same is False else "")
            if same is False:
                outputs[number] = direct[number]
            continue
        if row.left is None or row.right is None or not (row.left and row.right):
            continue
        verdicts = []
        for name, own, other in (("right", right, left), ("left", left, right)):
            at = {"right": row.right, "left": row.left}[name]
            at_other = {"right": row.left, "left": row.right}[name]
            result, note = _judge(
                str(number),
                done[name].outputs,
                done[name].errors,
                own[2].trace[at].sha256,
                other[2].trace[at_other].sha256,
                bool(row.event),
                read,
            )
            verdicts.append(result)
            found.append(Graft(number, row.name, own[2].role, result, note))
            if result == "differs" and number not in outputs:
                output = done[name].outputs[str(number)]
                theirs = other[2].trace[at_other].sha256
                outputs[number] = (theirs, output) if name == "right" else (output, theirs)
        behaviour = "same" if set(verdicts) == {"same"} else "not grafted"
        judged[number] = _with(row, "differs" if "differs" in verdicts else behaviour)
    return Grafts(tuple(judged), tuple(found), outputs)


def _judge(
    item: str,
    outputs: dict[str, str],
    errors: dict[str, str],
    own_output: str,
    other_output: str,
    controlled: bool,
    read: Read,
) -> tuple[str, str]:
    if item in errors:
        return "not grafted", errors[item]
    same = _same((outputs[item], other_output), read)
    if same is None:
        return "not grafted", "the IR was hashed, not kept: too large"
    if same:
        return "same", ""
    if controlled:
        control = f"{item}-self"
        if control in errors:
            return "not grafted", f"its control failed: {errors[control]}"
        if not _same((outputs[control], own_output), read):
            return "not grafted", "its control, the pass on its own side's IR, gave other IR"
    return "differs", ""


def _same(pair: tuple[str, str], read: Read) -> bool | None:
    if pair[0] == pair[1]:
        return True
    texts = read(pair[0]), read(pair[1])
    if texts[0] is None or texts[1] is None:
        return None
    return difference_size(STAGE, texts[0], texts[1]) == 0


def _with(row: AlignedPass, behaviour: str) -> AlignedPass:
    return msgspec.structs.replace(row, behaviour=behaviour)
