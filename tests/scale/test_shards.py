"""Dividing cases: nothing lost or twice, the same everywhere, in balance."""

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness import shards
from harness.corpus import Corpus
from harness.errors import HarnessError
from harness.model import Case, Target
from harness.result import Run

COSTS = st.floats(min_value=0, max_value=1e4, allow_nan=False)


def case(number: int) -> Case:
    return Case(
        id=f"k{number % 7}/s{number}@cuda:90",
        kernel=f"k{number % 7}",
        family="",
        spec=f"s{number}",
        target=Target("cuda", "90"),
        function="f",
        folder="/here",
        virtual_path="",
        source="",
        signature={},
        constexprs={},
        divisible_by_16=(),
        options={},
    )


sets = st.lists(st.integers(0, 60), unique=True, max_size=40).map(lambda n: tuple(map(case, n)))


@given(sets, st.dictionaries(st.integers(0, 60), COSTS), st.integers(1, 9), st.randoms())
def test_every_case_is_in_one_share_whatever_the_order(cases, known, count, random):
    costs = {case(number).id: cost for number, cost in known.items()}
    shares = shards.divide(cases, costs, count)
    assert len(shares) == count
    assert sorted(c.id for share in shares for c in share) == sorted(c.id for c in cases)
    order = {c.id: place for place, c in enumerate(cases)}
    for share in shares:
        assert [order[c.id] for c in share] == sorted(order[c.id] for c in share)
    shuffled = list(cases)
    random.shuffle(shuffled)
    again = shards.divide(shuffled, dict(sorted(costs.items())), count)
    assert [{c.id for c in share} for share in again] == [{c.id for c in s} for s in shares]
    plans = {shards.part(found, 1).plan for found in (shares, again)}
    assert len(plans) == 1


@given(sets.filter(bool), st.integers(1, 9), st.data())
def test_no_share_exceeds_the_mean_by_more_than_one_case(cases, count, data):
    """The bound of longest first: the last case put on the fullest share found it the emptiest."""
    costs = {c.id: data.draw(COSTS) for c in cases}
    loads = [sum(costs[c.id] for c in share) for share in shards.divide(cases, costs, count)]
    assert max(loads) <= sum(loads) / count + max(costs.values()) + 1e-6


@given(sets, st.integers(1, 9))
def test_without_costs_the_shares_are_of_equal_size(cases, count):
    sizes = [len(share) for share in shards.divide(cases, {}, count)]
    assert max(sizes) - min(sizes) <= 1


def test_a_new_case_costs_what_its_kernel_does():
    heavy, light, new = case(0), case(1), case(7)  # case 7 is of the kernel of case 0
    shares = shards.divide([heavy, light, new], {heavy.id: 10.0, light.id: 1.0}, 2)
    assert [len(share) for share in shares] == [2, 1]  # the new one alone, as heavy as the other


def test_where_a_corpus_lies_does_not_change_the_plan_but_its_kernels_do():
    def plan(**changes: object) -> str:
        return shards.part([[msgspec.structs.replace(case(1), **changes)], []], 1).plan

    assert plan() == plan(folder="/there")
    assert plan() != plan(source="other")
    assert plan() != shards.part([[], [case(1)]], 1).plan


def test_recorded_costs_count_the_second_compilation_and_the_explanation(single: Run):
    costs = shards.recorded_costs(single)
    for result in single.results:
        once = sum(side.seconds for side in result.compilations.values())
        times = 3 if result.rechecked else 2 if result.explanation else 1
        assert costs[result.case.id] == pytest.approx(times * once)
    assert {r.rechecked for r in single.results} == {True, False}


@pytest.mark.parametrize("text", ["", "1", "0/3", "4/3", "1/0", "-1/3", "a/b", "1/3/5", "1/3 "])
def test_a_malformed_shard_is_refused(text: str):
    with pytest.raises(HarnessError, match="not of the form I/N"):
        shards.parse(text)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(1, 99), st.integers(1, 99))
def test_a_shard_is_read_back(index: int, total: int):
    if index <= total:
        assert shards.parse(f"{index}/{total}") == (index, total)


def test_the_corpus_is_divided_by_what_it_cost(corpus: Corpus, single: Run):
    costs = shards.recorded_costs(single)
    loads = [sum(costs[c.id] for c in s) for s in shards.divide(corpus.cases, costs, 3)]
    assert max(loads) <= sum(loads) / 3 + max(costs.values())
