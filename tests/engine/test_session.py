"""A session judges what it measured, and blames nobody on one compilation."""

import datetime
from pathlib import Path

import msgspec
import pytest

from harness import corpus, ledger, toolchains
from harness.batches import evaluate_all
from harness.errors import HarnessError
from harness.model import Verdict
from harness.result import CaseResult, Status
from harness.session import AGAIN, Session
from harness.store import Store

EMPTY = ledger.Ledger((), datetime.date(2026, 12, 1))

# Leaves out a pass in every second compilation, counted in a file.
FICKLE = """
from pathlib import Path

from triton._C.libtriton import passes

COUNT = Path({count!r})
real = passes.ttgpuir.add_coalesce


def fickle(pm, *args):
    number = int(COUNT.read_text()) if COUNT.exists() else 0
    COUNT.write_text(str(number + 1))
    if number % 2 == 0:
        real(pm, *args)


def inspect_stages(backend, stages, options, language, capability):
    passes.ttgpuir.add_coalesce = fickle
"""


def session(
    reference: toolchains.Toolchain, candidate: toolchains.Toolchain, store: Path
) -> Session:
    controls = toolchains.controls("controlled", {"plugin": reference})
    return Session(reference, candidate, Store(store), EMPTY, "controlled", controls)


def verdicts(result: CaseResult) -> dict[str, Verdict]:
    return {comparison.stage: comparison.verdict for comparison in result.comparisons}


def test_a_side_that_differs_from_itself_is_called_nondeterministic(
    plugin: toolchains.Toolchain, write_kernel, tmp_path: Path
):
    hook = tmp_path / "fickle.py"
    hook.write_text(FICKLE.format(count=str(tmp_path / "count")))
    fickle = toolchains.overlaid(plugin, [toolchains.find_descriptor(str(hook))])
    wide = write_kernel("wide", replace={"tl.arange(0, BLOCK)": "tl.arange(0, BLOCK) * 1"})
    (case,) = corpus.load([wide]).cases
    case = msgspec.structs.replace(case, constexprs={"BLOCK": 2048})
    (tmp_path / "count").write_text("1")  # the first compilation differs, the second does not
    with session(plugin, fickle, tmp_path / "store") as made:
        result = made.evaluate(case)
    moving = [c for c in result.comparisons if c.verdict is Verdict.NONDETERMINISTIC]
    assert {c.side for c in moving} == {"plugin+fickle"}
    assert "ttgir" in {c.stage for c in moving}
    assert all("second compilation" in c.note for c in moving)
    assert result.status() is Status.NEW


def test_a_toolchain_against_itself_needs_no_second_opinion(
    fork: toolchains.Toolchain, write_kernel, tmp_path: Path
):
    again = msgspec.structs.replace(fork, role=fork.role + AGAIN)
    (case,) = corpus.load([write_kernel("same")]).cases
    with session(fork, again, tmp_path) as made:
        assert not made.void
        result = made.evaluate(case)
    assert set(verdicts(result).values()) == {Verdict.IDENTICAL}
    assert not result.rechecked
    assert result.status() is Status.PASS


def test_the_same_toolchain_in_both_roles_is_void(plugin: toolchains.Toolchain, tmp_path: Path):
    other = msgspec.structs.replace(plugin, role="other")
    with session(plugin, other, tmp_path) as made:
        assert "both sides are the same toolchain" in made.void


def test_an_unmeasured_stage_is_never_equal(
    fork: toolchains.Toolchain, plugin: toolchains.Toolchain, tmp_path: Path
):
    """Both sides refuse: no stage after the refusal may be called identical."""
    found = corpus.load([corpus.DEFAULT]).select(["negative/view_of_float_index"])
    case = msgspec.structs.replace(found[0], expect="compile")
    with session(fork, plugin, tmp_path) as made:
        result = made.evaluate(case)
    assert result.outcome.startswith("BOTH")
    assert Verdict.IDENTICAL not in {
        c.verdict for c in result.comparisons if not result.produced(c.stage)
    }
    assert result.status() is Status.REFUSED


def test_one_case_that_cannot_be_stored_costs_only_itself(
    fork: toolchains.Toolchain, plugin: toolchains.Toolchain, write_kernel, tmp_path: Path
):
    write_kernel("bad")
    cases = corpus.load([write_kernel("good")]).cases
    seen: dict[str, object] = {}
    with session(fork, plugin, tmp_path / "store") as made:
        real = made.compile

        def first(case):
            if case.kernel == "bad":
                raise HarnessError("disk", "full", "free some space")
            return real(case)

        made.compile = first  # type: ignore[method-assign]
        results = evaluate_all(made, cases, 2, lambda case, found: seen.update({case.id: found}))
    assert [result.case.kernel for result in results] == ["good"]
    assert isinstance(seen["bad/fp32-256@cuda:90"], HarnessError)


@pytest.mark.parametrize("lane", ["controlled", "shipped"])
def test_lanes_differ_in_what_both_sides_are_given(
    lane: str, fork: toolchains.Toolchain, plugin: toolchains.Toolchain
):
    given = toolchains.controls(lane, {"fork": fork, "plugin": plugin})
    assert bool(given.env) == (lane == "controlled")
    assert ("option sanitize_overflow" in given.described) == (lane == "controlled")


def test_an_artifact_that_vanishes_while_it_is_needed_is_no_verdict(
    fork: toolchains.Toolchain, plugin: toolchains.Toolchain, write_kernel, tmp_path: Path
):
    (case,) = corpus.load([write_kernel("good")]).cases
    with session(plugin, fork, tmp_path) as judging:
        first = judging.compile(case)
        judging.store.object_path(first["fork"].artifacts["ptx"].sha256).unlink()
        with pytest.raises(HarnessError, match="ptx was damaged or removed"):
            judging.conclude(case, first)
        result = judging.evaluate(case)
    assert verdicts(result)["ptx"] in (Verdict.IDENTICAL, Verdict.DIFFERENT)
    assert not any(comparison.note for comparison in result.comparisons)
