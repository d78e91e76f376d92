"""What a case's measurements come to: one state, whose it is, and why."""

from __future__ import annotations

from collections.abc import Sequence

from harness.parity.result import Bits, State, TrialResult


def of(trials: Sequence[TrialResult], labels: Sequence[str]) -> tuple[State, str, str]:
    """The state, the side and the reason: the worst that was seen, whose it is, and where.

    ``labels`` are the sides that were launched (or ``both``).
    """
    for state, seen in (
        (State.STRAY_WRITE, _strays(trials)),
        (State.NONDETERMINISTIC, _moves(trials)),
        (State.WRONG, _wrongs(trials)),
    ):
        if seen:
            side = next(iter(seen)) if len(seen) == 1 else "both"
            return state, side, "; ".join(f"{s}: {why}" for s, why in seen.items())
    for trial in trials:
        for found in trial.bits:
            if found.differing:
                return State.DIFFERENT, "", f"{_describe(found)} ({trial.distribution})"
    alone = len(labels) == 1 and "both" not in labels
    why = "only this side was launched" if alone else ""
    return State.BITWISE_EQUAL, "", why


def _describe(found: Bits) -> str:
    kinds = {
        "in the sign of a zero": found.zero_signs,
        "in being NaN": found.nan.left_only + found.nan.right_only,
        "in a NaN's payload": found.nan.payloads_differ,
    }
    kinds[f"by at most {found.worst_ulp} ULP"] = found.differing - sum(kinds.values())
    how = ", ".join(f"{count} {kind}" for kind, count in kinds.items() if count)
    return f"{found.differing} of {found.elements} elements of {found.output} differ: {how}"


def _strays(trials: Sequence[TrialResult]) -> dict[str, str]:
    found: dict[str, str] = {}
    for trial in trials:
        for stray in trial.stray:
            text = f"{stray.changed} bytes changed in {stray.where} ({trial.distribution})"
            found.setdefault(stray.side, text)
    return found


def _moves(trials: Sequence[TrialResult]) -> dict[str, str]:
    found: dict[str, str] = {}
    for trial in trials:
        for repeat in trial.repeats:
            if repeat.moving:
                where = f"{repeat.output}{list(repeat.first_index)}"
                text = f"{repeat.moving} bytes move, first in {where} ({trial.distribution})"
                found.setdefault(repeat.side, text)
    return found


def _wrongs(trials: Sequence[TrialResult]) -> dict[str, str]:
    found: dict[str, str] = {}
    for trial in trials:
        for judged in trial.truth:
            if judged.unwritten:
                text = f"{judged.unwritten} elements of {judged.output} are never written"
                found.setdefault(judged.side, f"{text} ({trial.distribution})")
            elif judged.wrong:
                where = f"{judged.output}{list(judged.first_index)}"
                text = f"{judged.wrong} of {judged.elements} elements, first {where}"
                found.setdefault(judged.side, f"{text} {judged.first} ({trial.distribution})")
    return found
