"""FileCheck files beside a kernel: what its IR must hold on both sides.

``<stage>.check`` applies to every case of the kernel, ``<stage>.<tag>.check`` to the cases
whose specialisation, backend (``cuda``) or target (``cuda90``) is ``<tag>``. They keep two
sides that both dropped an operation from being called equal.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import Options
from filecheck.parser import Parser, pattern_for_opts

from harness.model import Case, Compilation
from harness.result import Check
from harness.store import Store

_ANSI = re.compile(r"\x1b\[[0-9;]*m")


def files_for(case: Case) -> list[tuple[Path, str]]:
    """The check files that apply to ``case``, each with its stage."""
    target = str(case.target)
    tags = {case.spec, case.target.backend, target.replace(":", "")}
    found = []
    for path in sorted(Path(case.folder).glob("*.check")):
        stage, _, tag = path.name.removesuffix(".check").partition(".")
        if stage in case.target.stages and (not tag or tag in tags):
            found.append((path, stage))
    return found


def run(case: Case, compilation: Compilation, store: Store) -> list[Check]:
    """Run the case's check files on one side; a stage it did not produce is left out."""
    results = []
    for path, stage in files_for(case):
        data = store.read(compilation.artifacts.get(stage))
        if data is None:
            continue
        message = check(path.read_text(), data.decode("utf-8", "replace"), path.name)
        results.append(Check(path.name, stage, compilation.role, not message, message))
    return results


def check(checks: str, text: str, name: str) -> str:
    """FileCheck's words on why ``text`` does not satisfy ``checks``; empty if it does."""
    options = Options(match_filename=name)
    matcher = Matcher(
        options,
        FInput(name, text),
        Parser(options, io.StringIO(checks), *pattern_for_opts(options)),
    )
    matcher.stderr = printed = io.StringIO()
    status = matcher.run()
    return "" if status == 0 else _ANSI.sub("", printed.getvalue())[-2000:] or "does not match"
