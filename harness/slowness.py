"""What took longer in a night than before, beyond what measuring again would explain.

A case compiles slower if it takes SLOWER times, and SECONDS more than, the median of its last
times, and is outside their spread; a ratio on a GPU is worse if the two 99 % intervals lie
GPU_MARGIN apart.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from harness.night import UNEXPECTED, CaseFacts, Night

SLOWER = 1.5
SECONDS = 0.5
SPREADS = 4.0
GPU_MARGIN = 1.05
ENOUGH = 8  # compilations timed anew, from which on a common factor is the machine's
_MAD = 1.4826  # of a normal distribution, the median absolute deviation is 1/1.4826 sigma


def machine_factor(pairs: Iterable[tuple[CaseFacts, CaseFacts]]) -> float:
    """The common factor of all compile times, now over before; 1 if too few were timed anew.

    What was not compiled again has its old time, exactly.
    """
    ratios = [
        side.seconds / then.seconds
        for facts, old in pairs
        for role, side in facts.sides.items()
        if (then := old.sides.get(role)) is not None
        and side.outcome == then.outcome == "OK"
        and then.seconds not in (0, side.seconds)
    ]
    return max(1.0, statistics.median(ratios)) if len(ratios) >= ENOUGH else 1.0


def slower_to_compile(
    night: Night, earlier: Sequence[Night], machine: float
) -> Iterator[tuple[CaseFacts, str, str]]:
    """Each case and side that compiles slower than in ``earlier`` nights, on a machine that is
    slower by a factor: the case, and what was and is, in words."""
    times: dict[tuple[str, str], dict[float, None]] = defaultdict(dict)
    for other in earlier:
        for facts in other.cases:
            for role, side in facts.sides.items():
                if side.outcome == "OK":
                    times[facts.case, role][side.seconds] = None
    for facts in night.cases:
        for role, side in facts.sides.items():
            known = list(times.get((facts.case, role), ()))
            if side.outcome != "OK" or not known or side.seconds in known:
                continue
            usual = statistics.median(known)
            spread = _MAD * statistics.median(abs(seconds - usual) for seconds in known)
            least = usual * machine + max(SECONDS, SPREADS * spread)
            if side.seconds > max(least, SLOWER * machine * usual):
                before = f"{role}: {usual:.2f} s (median of {len(known)})"
                yield facts, before, f"{role}: {side.seconds:.2f} s"


def slower_on_gpu(night: Night, other: Night, facts: CaseFacts, old: CaseFacts) -> bool:
    """Whether the candidate has become slower against the reference on the same kind of GPU, or
    is judged slower as it was not before."""
    now, then = facts.speed, old.speed
    if now is None or then is None or not (now.compared and then.compared):
        return False
    if night.device.partition(",")[0] != other.device.partition(",")[0]:
        return False
    judged, earlier = facts.stage("speed"), old.stage("speed")
    newly = judged is not None and judged.status in UNEXPECTED
    newly = newly and earlier is not None and earlier.equal
    return newly or now.low > then.high * GPU_MARGIN
