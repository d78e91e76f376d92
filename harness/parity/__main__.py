"""``python -m harness.parity BUNDLE -o parity.json``: run a bundle on this machine's GPUs.

The same as ``tlx-equiv parity``, for a GPU host that has this package and nothing else of the
project's dependencies. Exit status: 0 all equal and none slower, 1 findings, 2 the run
could not be done.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from harness.errors import HarnessError
from harness.parity.result import ParityResult
from harness.parity.session import run_parity


def main() -> int:
    """Run a bundle, printing one line per case."""
    parser = argparse.ArgumentParser(prog="python -m harness.parity", description=__doc__)
    parser.add_argument("bundle", type=Path, help="what `tlx-equiv bundle` wrote")
    parser.add_argument("-o", "--output", type=Path, default=Path("parity.json"))
    parser.add_argument(
        "--quiet", type=float, default=60.0, help="seconds after which a launch counts as hung"
    )
    options = parser.parse_args()
    try:
        report = run_parity(options.bundle, options.output, progress=_show, quiet=options.quiet)
    except HarnessError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    for verdict, count in report.counts().items():
        print(f"{count:5} {verdict}")
    return 1 if report.findings() else 0


def _show(done: int, total: int, result: ParityResult) -> None:
    speed = result.speed
    ratio = ""
    if speed is not None:
        ratio = f"  {speed.verdict} {speed.ratio:.3f} [{speed.low:.3f}, {speed.high:.3f}]"
    reason = f"  {result.reason}" if result.reason else ""
    print(f"[{done}/{total}] {result.case}  {result.verdict}{ratio}{reason}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
