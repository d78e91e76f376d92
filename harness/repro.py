"""A reproducer: a folder that shows one divergence without the harness.

It holds the kernel, its specialisation, the pins of both sides, one script per side that
makes an environment and compiles, and one that shows the difference. It needs Python, pip and
diff; nothing of this project.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path

from harness.compile import target_of
from harness.errors import HarnessError
from harness.model import Case
from harness.result import CaseResult, Run

COMPILE = '''"""Compile kernel.py as case.json says, and write every stage into the folder given."""

import importlib.util
import json
import os
import sys
import tempfile
from pathlib import Path

here = Path(__file__).resolve().parent
out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
case = json.loads((here / "case.json").read_text())
os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()

import triton.language as tl
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile

real = ir.pass_manager


class Checkpoints(real):
    """Prints the IR, without locations, where both toolchains mean the same by it."""

    def run(self, module, *args):
        super().run(module, *args)
        if args and args[0] in ("make_ttir", "make_ttgir"):
            (out / (args[0][5:] + ".mlir")).write_text(module.str_nodebug())


ir.pass_manager = Checkpoints
spec = importlib.util.spec_from_file_location("kernel", here / "kernel.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
kernel = getattr(module, case["function"])


def value(x):
    return getattr(tl, x["$dtype"]) if isinstance(x, dict) else x


compiled = compile(
    ASTSource(
        kernel,
        {name: case["signature"].get(name, "constexpr") for name in kernel.arg_names},
        {name: value(x) for name, x in case["constexprs"].items()},
        {
            (i,): [["tt.divisibility", 16]] * (name in case["divisible_by_16"])
            + [["tt.pointer_range", 32]] * (name in case["within_2gb"])
            for i, name in enumerate(kernel.arg_names)
        },
    ),
    target=GPUTarget(*case["target"]),
    options={k: tuple(v) if isinstance(v, list) else v for k, v in case["options"].items()},
)
for stage in case["stages"]:
    data = compiled.asm[stage]
    (out / stage).write_bytes(data if isinstance(data, bytes) else data.encode())
print("compiled by triton", compiled.metadata.triton_version, "into", out)
'''

SIDE = """#!/bin/sh
# Make an environment with the pins of the {role} side and compile there.
set -eu
cd "$(dirname "$0")"
[ -x env-{role}/bin/python ] || {{
    python3 -m venv env-{role}
    env-{role}/bin/python -m pip install --quiet --no-deps -r {role}.txt
}}
exec env -i PATH="$PATH" HOME="$HOME" {environment} env-{role}/bin/python compile.py out-{role}
"""

SHOW = """#!/bin/sh
# Compile on both sides and show what differs; exits 0 whether or not something does.
cd "$(dirname "$0")"
for side in {roles}; do sh ./$side.sh || echo "$side: did not compile (see above)"; done
for stage in ttir.mlir ttgir.mlir {stages}; do
    if cmp -s {left}/$stage {right}/$stage; then echo "$stage: identical"
    else echo "$stage: differs"; fi
done
diff -u {left}/ttgir.mlir {right}/ttgir.mlir || true
"""


def write(run: Run, result: CaseResult, out: Path, pins: Mapping[str, Mapping[str, str]]) -> Path:
    """Write the reproducer of ``result`` into ``out``; ``pins`` has each side's
    requirements by distribution, hashes included, for those distributions that the run used.

    Raises HarnessError if ``out`` is not empty or cannot be written.
    """
    case = result.case
    roles = run.reference, run.candidate
    if out.exists() and any(out.iterdir()):
        raise HarnessError(f"folder {out}", "is not empty", "name a new folder with --out DIR")
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / "kernel.py").write_text(case.source)
        (out / "case.json").write_text(json.dumps(_plain(run, case), indent=1) + "\n")
        (out / "compile.py").write_text(COMPILE)
        for role in roles:
            (out / f"{role}.txt").write_text(_requirements(run, role, pins[role]))
            (out / f"{role}.sh").write_text(SIDE.format(role=role, environment=_environment(run)))
        (out / "show.sh").write_text(
            SHOW.format(
                roles=" ".join(roles),
                stages=" ".join(case.target.stages[2:]),
                left=f"out-{roles[0]}",
                right=f"out-{roles[1]}",
            )
        )
        (out / "README.md").write_text(_readme(run, result))
    except OSError as error:
        raise HarnessError(
            f"folder {out}", f"cannot be written: {error.strerror}", "name another with --out DIR"
        ) from error
    return out


def _plain(run: Run, case: Case) -> dict[str, object]:
    options = {
        name.removeprefix("option "): json.loads(text.lower())
        for name, text in run.controls.items()
        if name.startswith("option ")
    }
    return {
        "function": case.function,
        "signature": case.signature,
        "constexprs": case.constexprs,
        "divisible_by_16": list(case.divisible_by_16),
        "within_2gb": list(case.within_2gb),
        "options": {**options, **case.options},
        "target": target_of(case),
        "stages": list(case.target.stages),
    }


def _requirements(run: Run, role: str, pins: Mapping[str, str]) -> str:
    """The distributions that the run measured; with hashes where they are the pinned ones."""
    lines = []
    for distribution in run.toolchains[role].distributions:
        pin = pins.get(distribution.partition("==")[0], "")
        lines.append(pin if pin.startswith(distribution) else distribution)
    return "\n".join(lines) + "\n"


def _environment(run: Run) -> str:
    """Controls that are plain variables; the others are left to the reader."""
    plain = {
        name: value
        for name, value in run.controls.items()
        if name.isupper() and "sha256" not in value
    }
    return " ".join(f"{name}={shlex.quote(value)}" for name, value in sorted(plain.items()))


def _readme(run: Run, result: CaseResult) -> str:
    lines = [f"# {result.case.id}", "", f"Outcome: {result.outcome}."]
    for comparison in result.comparisons:
        lines.append(f"- {comparison.stage}: {comparison.verdict.value}")
    if result.explanation is not None:
        lines += ["", f"Attribution: {', '.join(result.explanation.attributions)}."]
        lines += [f"- {sentence}" for sentence in result.explanation.evidence]
    assembler = [f"{k}: {v}" for k, v in sorted(run.controls.items()) if "sha256" in v]
    lines += ["", "`sh show.sh` makes both environments, compiles on both sides and shows what"]
    lines += ["differs. It needs Linux x86-64, Python 3.10 to 3.14, pip and diff.", ""]
    if assembler:
        lines += ["The run gave both sides one assembler; here each side uses its own:"]
        lines += [f"- {text}" for text in assembler]
    return "\n".join(lines) + "\n"
