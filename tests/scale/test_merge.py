"""Shards merged are the single run: in any order and grouping, again and again; no mixtures."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outcomes import ledger, verdicts

from harness import judge, shards
from harness import run as engine
from harness.corpus import Corpus
from harness.errors import HarnessError
from harness.ledger import Expectation
from harness.merge import merge
from harness.result import BitsOf, Parity, Run, Status
from harness.session import Session
from harness.store import Store
from reports import write_report

SHARES = 3


@pytest.fixture(scope="session")
def parts(corpus: Corpus, execute, single: Run, expected) -> tuple[Run, ...]:
    """The shards of the single run, by its own costs, as read from their files."""
    shares = shards.divide(corpus.cases, shards.recorded_costs(single), SHARES)
    made = [
        execute(share, shards.part(shares, index), ledger(expected))
        for index, share in enumerate(shares, 1)
    ]
    return tuple(msgspec.json.decode(msgspec.json.encode(run), type=Run) for run in made)


@pytest.fixture(scope="session")
def join(corpus: Corpus, expected: tuple[Expectation, ...]):
    def joined(runs: Sequence[Run]) -> Run:
        named = {f"run {number}": run for number, run in enumerate(runs)}
        return merge(named, corpus, ledger(expected))

    return joined


def test_the_single_run_has_something_of_everything(single: Run):
    """Otherwise the tests below would show little."""
    statuses = {judgement.status for _, judgement in single.judgements()}
    assert {Status.PASS, Status.EXPECTED} <= statuses
    kinds = {problem.kind for problem in single.ledger_problems}
    assert kinds == {"stale", "expired", "unmatched"}
    assert any(use.refusals for entry in single.coverage for use in entry.uses)
    assert judge.exit_status(single) == 1


def test_three_shards_merged_are_the_single_run(single: Run, parts, join):
    assert all(part.results for part in parts)
    whole = join(parts)
    assert verdicts(whole) == verdicts(single)
    assert judge.exit_status(whole) == judge.exit_status(single)
    assert [r.case.id for r in whole.results] == [r.case.id for r in single.results]
    assert whole.part is not None
    assert whole.part.missing == ()
    assert msgspec.json.decode(msgspec.json.encode(whole), type=Run) == whole


def test_a_shard_does_not_judge_the_ledger(parts):
    assert all(part.ledger_problems == () for part in parts)
    assert all(part.broken == () for part in parts)


@settings(deadline=None, max_examples=30)
@given(st.data())
def test_merging_in_any_order_grouping_and_number_gives_the_same(parts, join, data):
    """Draw shards, with repetition but none left out, and merge them as a random tree."""
    extra = data.draw(st.lists(st.sampled_from(parts), max_size=3))
    forest = data.draw(st.permutations([*parts, *extra]))
    while len(forest) > 1:
        taken = data.draw(st.integers(1, len(forest)))
        group, rest = forest[:taken], forest[taken:]
        forest = [*rest, join(group)] if data.draw(st.booleans()) else [join(group), *rest]
        if taken == 1 and len(forest) > 1:
            forest = [join(forest[:2]), *forest[2:]]
    assert join(forest) == join(parts)


def test_a_missing_shard_breaks_the_run_until_it_is_merged(parts, join):
    some = join(parts[:2])
    assert some.broken == (f"shard 3/{SHARES} is missing: merge its run as well",)
    assert some.ledger_problems == ()
    assert judge.exit_status(some) == 2
    assert join([some, parts[2]]) == join(parts)


def test_reports_say_that_they_are_of_shards_only(parts, join, session: Session, tmp_path: Path):
    for runs, words in ((parts[:2], "only shard 1, 2 of 3"), (parts, "")):
        index = write_report(join(runs), session.store, tmp_path / str(len(runs)))
        for file in (index, index.with_name("summary.md")):
            assert words in file.read_text()
            assert ("only shard" in file.read_text()) == bool(words)


def test_undivided_runs_over_different_cases_join_too(
    corpus: Corpus, execute, single, expected, join
):
    half = len(corpus.cases) // 2
    runs = [
        execute(cases, None, ledger(expected))
        for cases in (corpus.cases[:half], corpus.cases[half:])
    ]
    assert verdicts(join(runs)) == verdicts(single)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"lane": "shipped"}, "another lane than run 0: shipped there, controlled here"),
        ({"harness": "9.9"}, "another version of tlx-equiv"),
        ({"candidate": "upstream"}, "another sides"),
        ({"part": None}, "another division of the cases than run 0: undivided there"),
    ],
)
def test_mixtures_are_refused(parts, join, change, words):
    with pytest.raises(HarnessError) as caught:
        join([parts[0], msgspec.structs.replace(parts[1], **change)])
    assert words in caught.value.cause
    assert caught.value.thing == "run run 1"


def test_other_toolchains_controls_and_divisions_are_refused(parts, join):
    one, two, _ = parts
    plugin = one.toolchains["plugin"]
    other = msgspec.structs.replace(plugin, fingerprint="0" * 64, distributions=("triton==0",))
    mixed = msgspec.structs.replace(two, toolchains={**two.toolchains, "plugin": other})
    with pytest.raises(HarnessError, match="another toolchain plugin than run 0: triton==0"):
        join([one, mixed])
    controls = {**two.controls, "PYTHONHASHSEED": "1"}
    with pytest.raises(HarnessError, match="another control PYTHONHASHSEED than run 0: 1 there"):
        join([one, msgspec.structs.replace(two, controls=controls)])
    divided = msgspec.structs.replace(two.part, plan="0" * 64)
    with pytest.raises(HarnessError, match="another division of the cases"):
        join([one, msgspec.structs.replace(two, part=divided)])


def test_the_same_toolchain_on_another_machine_is_no_mixture(parts, join):
    moved = {
        role: msgspec.structs.replace(identity, interpreter="/elsewhere/python")
        for role, identity in parts[1].toolchains.items()
    }
    elsewhere = msgspec.structs.replace(parts[1], toolchains=moved)
    assert join([parts[0], elsewhere]) == join([elsewhere, parts[0]])


def test_two_results_of_one_case_are_refused(parts, join):
    results = parts[0].results
    other = msgspec.structs.replace(results[0], outcome="OK, but not the same")
    changed = msgspec.structs.replace(parts[0], results=(other, *results[1:]))
    with pytest.raises(HarnessError, match="has one result in run 0 and another in run 1"):
        join([parts[0], changed])


def test_what_a_gpu_showed_is_kept_and_its_ledger_entries_are_judged(parts, join, corpus, expected):
    equal = next(
        r for part in parts for r in part.results if r.case.kernel == "utilities/thread_ids"
    )
    bits = (BitsOf("normal", "y_ptr", 10),)
    parity = Parity("BITWISE_EQUAL", "BITWISE_EQUAL", bits=bits, device="a GPU")
    launched = [
        msgspec.structs.replace(
            part,
            parity_device="a GPU",
            results=tuple(
                msgspec.structs.replace(r, parity=parity) if r.case.id == equal.case.id else r
                for r in part.results
            ),
        )
        for part in parts
    ]
    whole = join([*launched, *parts])
    assert whole == join([*parts, *launched])
    found = {r.case.id: r for r in whole.results}[equal.case.id]
    assert found.parity == parity
    assert found.judgements[-1].stage == "parity"
    stale = msgspec.structs.replace(
        expected[0], id="gpu", cases=(equal.case.id,), fingerprints={"parity": ("NUMERIC",)}
    )
    problems = merge({"whole": whole}, corpus, ledger([stale])).ledger_problems
    assert [(p.expectation, p.kind) for p in problems] == [("gpu", "stale on the GPU")]


def test_artifacts_are_carried_whole_and_verified(single: Run, session: Session, tmp_path: Path):
    carried, arrived = Store(tmp_path / "carried"), Store(tmp_path / "arrived")
    assert engine.carry(single, session.store, carried) == 0
    wanted = engine.artifacts(single)
    assert len(wanted) == len(list(carried.objects())) > 10
    damaged, *_ = sorted(carried.objects())
    damaged.write_bytes(damaged.read_bytes()[:-1])
    assert engine.carry(single, carried, arrived) == 1
    assert sum(arrived.get(sha) is None for sha in wanted) == 1
    assert engine.carry(single, session.store, arrived) == 0
