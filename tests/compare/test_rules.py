"""The registry of rules, and the search for the smallest sufficient subset."""

import itertools
import re
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import compare
from harness.compare.rules import Registry, apply_rules, smallest_sufficient
from harness.compare.text import CannotParse, Text
from harness.errors import HarnessError


def test_a_name_clash_names_both() -> None:
    registry = Registry()

    def first(text: Text) -> Text:
        return text

    def second(text: Text) -> Text:
        return text

    registry.add(compare.Rule("x.twice", ("ptx",), first, "."))
    with pytest.raises(HarnessError) as caught:
        registry.add(compare.Rule("x.twice", ("llir",), second, "."))
    assert "first" in caught.value.cause
    assert "second" in caught.value.cause
    assert registry["x.twice"].apply is first


@pytest.mark.parametrize("rule", compare.RULES.values(), ids=lambda rule: rule.name)
def test_every_rule_says_what_it_ignores_and_why(rule: compare.Rule) -> None:
    sentences = [each for each in re.split(r"[.:)]\s+", rule.why) if len(each) > 10]
    assert len(sentences) >= 2, rule.why
    assert rule.stages
    assert compare.RULES[rule.name] is rule


def test_rules_keep_the_order_of_registration() -> None:
    names = [rule.name for rule in compare.rules_for("ttgir")]
    assert names.index("mlir.alias-names") < names.index("mlir.constant-order")
    assert names[-1] == "mlir.ssa-names"
    assert "mlir.module-attr:ttg.target" not in names
    assert "mlir.module-attr:ttg.target" in [rule.name for rule in compare.rules_for("ttir")]


def _dropping(letters: str) -> compare.Rule:
    def apply(text: Text) -> Text:
        return text.each(lambda line: "".join(c for c in line if c not in letters))

    return compare.Rule(f"drop.{letters}", ("ptx",), apply, ".")


@given(
    st.text("abcdz", max_size=8),
    st.text("abcdz", max_size=8),
    st.lists(st.sampled_from(["a", "b", "c", "d", "ab", "bc", "abcd"]), unique=True, min_size=1),
)
def test_the_smallest_subset_is_the_smallest(left: str, right: str, which: list[str]) -> None:
    """Against trying all subsets by increasing size."""
    rules = [_dropping(letters) for letters in which]
    forms = Text.of(left), Text.of(right)

    def suffices(subset: Sequence[compare.Rule]) -> bool:
        return apply_rules(forms[0], subset)[0].lines == apply_rules(forms[1], subset)[0].lines

    if suffices(rules):
        best = next(
            size
            for size in range(len(rules) + 1)
            if any(suffices(subset) for subset in itertools.combinations(rules, size))
        )
        found = smallest_sufficient(*forms, rules)
        assert suffices(found)
        assert len(found) == best


def test_a_rule_that_cannot_parse_names_itself() -> None:
    def apply(text: Text) -> Text:
        raise CannotParse("no such thing")

    with pytest.raises(CannotParse, match=r"x\.strict: no such thing"):
        apply_rules(Text.of("a"), [compare.Rule("x.strict", ("ptx",), apply, ".")])


def _monotone(check: Callable[[set[str]], bool], names: Sequence[str]) -> bool:
    good = [
        set(subset)
        for size in range(len(names) + 1)
        for subset in itertools.combinations(names, size)
        if check(set(subset))
    ]
    return all(check(subset | {name}) for subset in good for name in names if name not in subset)


@pytest.mark.parametrize(
    ("case", "stage"),
    [
        ("ring_copy@cuda-90", "ttir"),
        ("noinline_call@cuda-90", "ttir"),
        ("thread_ids@cuda-100", "ptx"),
        ("bit_view@hip-gfx942", "amdgcn"),
        ("bit_view@hip-gfx942", "hsaco"),
    ],
)
def test_more_rules_never_make_equal_forms_unequal(
    pair: Callable[[str, str], tuple[bytes, bytes]], case: str, stage: str
) -> None:
    sides = pair(case, stage)
    changing = [
        rule
        for rule in compare.rules_for(stage)
        if any(
            compare.normalise(stage, side, [rule]) != compare.normalise(stage, side, [])
            for side in sides
        )
    ]

    def check(names: set[str]) -> bool:
        subset = [rule for rule in changing if rule.name in names]
        left, right = (compare.normalise(stage, side, subset).lines for side in sides)
        return left == right

    assert _monotone(check, [rule.name for rule in changing])
