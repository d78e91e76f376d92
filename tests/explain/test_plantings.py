"""Planted pass changes are found, and the pass that was changed is the one named.

Reference: the plugin toolchain. Candidate: the same with a stage-hook plugin that removes,
adds, swaps or re-parametrises one pass. Which passes do something for a kernel is read from
its own trace, so every planting is one that has an effect.
"""

import json
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from harness import corpus, ledger, planting, toolchains
from harness.compile import Worker, compile_case
from harness.model import Case, CaseResult, Compilation, PassStep, Verdict
from harness.session import Session
from harness.store import Store

KERNELS = (
    "async_copy/ring_copy/fp32-3x128@cuda:90",
    "baseline/matmul/*@cuda:90",
    "baseline/row_softmax/*@cuda:90",
    "baseline/layer_norm/*@cuda:90",
    "dots/operand_orders/*@cuda:90",
    "memory/staged_copy/*@cuda:90",
    "reductions/shared_softmax/*@cuda:90",
    "warp_specialisation/two_tasks/*@cuda:90",
)
REMOVABLE = (
    "tritongpu-coalesce",
    "canonicalize",
    "cse",
    "triton-licm",
    "tritongpu-remove-layout-conversions",
    "triton-loop-aware-cse",
    "tritongpu-optimize-thread-locality",
    "tritongpu-reorder-instructions",
    "tritongpu-accelerate-matmul",
    "tritongpu-pipeline",
    "convert-scf-to-cf",
    "tritongpu-allocate-warp-groups",
    "allocate-shared-memory-nv",
    "canonicalize-llvm-ir",
    "convert-triton-gpu-to-llvm",
)
EQUAL = (Verdict.IDENTICAL, Verdict.EQUIVALENT)
ADDED = {"convert.add_scf_to_cf": "convert-scf-to-cf"}
OPTIONS = {
    "tritongpu-F32DotTC": (False,),
    "tritongpu-optimize-dot-operands": (False,),
    "triton-nvidia-gpu-fence-insertion": (80,),
    "tritongpu-pipeline": (1, False),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    found = corpus.load([corpus.DEFAULT])
    return [found.select([pattern])[0] for pattern in KERNELS]


@pytest.fixture(scope="module")
def controls(plugin: toolchains.Toolchain) -> toolchains.Controls:
    return toolchains.controls("controlled", {"plugin": plugin})


@pytest.fixture(scope="module")
def compiled(
    plugin: toolchains.Toolchain,
    controls: toolchains.Controls,
    cases: list[Case],
    store: Store,
) -> dict[str, Compilation]:
    fingerprint = toolchains.identify(plugin).fingerprint
    found = {}
    for plain in (False, True):
        with Worker(plugin, controls, plain=plain) as worker:
            for case in cases:
                if case.baseline == plain:
                    found[case.id] = compile_case(worker, case, fingerprint, store)
    return found


def acting(trace: tuple[PassStep, ...]) -> list[tuple[int, int]]:
    """(index, occurrence of its adder) of the passes that changed the IR."""
    seen: Counter[str] = Counter()
    found = []
    for index, step in enumerate(trace):
        if index and step.sha256 != trace[index - 1].sha256:
            found.append((index, seen[step.adder]))
        seen[step.adder] += 1
    return found


def plantings(trace: tuple[PassStep, ...]) -> list[tuple[str, PassStep, int, dict, set[str]]]:
    """What to plant in a pipeline with this trace: at most six changes of every kind."""
    planned = []
    for index, occurrence in acting(trace):
        step = trace[index]
        if step.name in REMOVABLE and step.manager != "make_ttir":
            planned.append(("remove", step, occurrence, {}, {step.name}))
        if step.name == "tritongpu-coalesce":
            for extra, name in ADDED.items():
                planned.append(("add", step, occurrence, {"extra": extra}, {name}))
        if step.name in ("triton-licm", "sccp") and index + 1 < len(trace):
            neighbour = trace[index + 1]
            names = {step.name, neighbour.name}
            planned.append(("swap", step, occurrence, {"neighbours": (neighbour.adder,)}, names))
    for step in trace:
        if step.name in OPTIONS and json.loads(step.arguments)[0] != list(OPTIONS[step.name]):
            planned.append(("option", step, 0, {"arguments": OPTIONS[step.name]}, {step.name}))
    return planned


def evaluate(
    plugin: toolchains.Toolchain,
    controls: toolchains.Controls,
    store: Store,
    case: Case,
    hook: Path,
) -> CaseResult:
    planted = toolchains.overlaid(plugin, [toolchains.find_descriptor(str(hook))])
    with Session(
        plugin, planted, store, ledger.Ledger((), ledger_date()), "controlled", controls
    ) as session:
        assert not session.void
        return session.evaluate(case)


def ledger_date():
    import datetime

    return datetime.date(2026, 12, 1)


def test_the_planted_pass_is_named(
    plugin: toolchains.Toolchain,
    controls: toolchains.Controls,
    cases: list[Case],
    compiled: dict[str, Compilation],
    store: Store,
    tmp_path: Path,
):
    planted = right = 0
    wrong = []
    for case in cases:
        for number, (kind, step, occurrence, more, names) in enumerate(
            plantings(compiled[case.id].trace)
        ):
            hook = tmp_path / f"{case.function}-{number}.py"
            planting.write(hook, kind, step.adder, occurrence, **more)
            result = evaluate(plugin, controls, store, case, hook)
            found = result.explanation
            if found is None:
                assert all(c.verdict in EQUAL for c in result.comparisons)
                continue  # the change came to the same code: there is nothing to find
            planted += 1
            named = {birth.pass_name for birth in found.births[:1]} if found else set()
            if found is not None and found.failing_pass:
                named.add(found.failing_pass.partition(": ")[2])
            if named & names:
                right += 1
            else:
                verdicts = {c.stage: c.verdict.value for c in result.comparisons}
                wrong.append((case.id, kind, step.name, occurrence, named, verdicts))
    assert planted >= 40, planted
    assert right >= 0.95 * planted, (right, planted, wrong)


def test_a_toolchain_against_itself_is_identical(
    plugin: toolchains.Toolchain, controls: toolchains.Controls, cases: list[Case], tmp_path: Path
):
    again = msgspec.structs.replace(plugin, role="plugin-again")
    store = Store(tmp_path)
    with Session(
        plugin, again, store, ledger.Ledger((), ledger_date()), "controlled", controls
    ) as session:
        for case in cases[:3]:
            result = session.evaluate(case)
            assert {c.verdict for c in result.comparisons} == {Verdict.IDENTICAL}
            assert result.explanation is None
