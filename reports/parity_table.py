"""``python -m reports.parity_table PARITY_JSON PAGE``: a GPU's results in short, in Markdown.

What stands between the two marker lines of the page is replaced.
"""

from __future__ import annotations

import statistics
import sys
from collections import defaultdict
from pathlib import Path

from harness.errors import HarnessError
from harness.parity.result import ParityReport, ParityResult, State, load_report

BEGIN, END = "<!-- begin: parity_table -->", "<!-- end: parity_table -->"
_HEADS = ("family", "launched", "bits equal", "different", "not stable", "wrong or worse")
_SPEEDS = ("timed", "slower", "faster", "median", "worst")


def table(report: ParityReport) -> str:
    """The report by family: how many cases are equal, and how fast the candidate is."""
    families: dict[str, list[ParityResult]] = defaultdict(list)
    for result in report.results:
        if result.launched:
            families[result.case.split("/")[0]].append(result)
    everything = [result for results in families.values() for result in results]
    rows = [_row(name, results) for name, results in sorted(families.items())]
    heads = (*_HEADS, *_SPEEDS)
    lines = [
        *(_device_lines(report)),
        "",
        f"| {' | '.join(heads)} |",
        f"| --- |{' ---: |' * (len(heads) - 1)}",
        *rows,
        _row("**all**", everything),
    ]
    return "\n".join(lines)


def update(page: str, report: ParityReport) -> str:
    """The page with the table of this report; raises HarnessError if it has no place for one."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise HarnessError("page", f"lacks the lines {BEGIN} and {END}", "add them")
    return f"{before}{BEGIN}\n{table(report)}\n{END}{after}"


def _device_lines(report: ParityReport) -> list[str]:
    words = "; ".join(
        f"{role} is {', '.join(sorted(stamp.distributions))} (`{stamp.fingerprint[:10]}`)"
        for role, stamp in report.toolchains.items()
    )
    gpus = ", ".join(
        f"{gpu.name}, driver {gpu.driver}, CUDA {gpu.cuda}, torch {gpu.torch}"
        for gpu in dict.fromkeys(report.gpus.values())
    )
    return [f"Measured on {report.started[:10]} in {report.seconds:.0f} s on {gpus}.", f"{words}."]


def _row(name: str, results: list[ParityResult]) -> str:
    equal = sum(result.state is State.BITWISE_EQUAL for result in results)
    different = sum(result.state is State.DIFFERENT for result in results)
    unstable = sum(result.state is State.NONDETERMINISTIC for result in results)
    bits = [len(results), equal, different, unstable, len(results) - equal - different - unstable]
    speeds = [result.speed for result in results if result.speed is not None]
    timed = [speed for speed in speeds if speed.verdict in ("same", "slower", "faster")]
    counts = [sum(speed.verdict == verdict for speed in timed) for verdict in ("slower", "faster")]
    ratios = [speed.ratio for speed in timed]
    ends = (f"{statistics.median(ratios):.2f}", f"{max(ratios):.2f}") if ratios else ("", "")
    return f"| {' | '.join(map(str, [name, *bits, len(timed), *counts, *ends]))} |"


def main() -> None:
    """Write the table into the page."""
    source, page = map(Path, sys.argv[1:])
    page.write_text(update(page.read_text(), load_report(source)))


if __name__ == "__main__":
    main()
