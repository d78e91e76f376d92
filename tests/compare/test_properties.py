"""What holds for every comparator: idempotent, symmetric, insensitive to what its rules name,
sensitive to everything else. The changes are those of the self-check, at places of hypothesis'
choice."""

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import compare
from harness.compare.rules import apply_rules
from harness.model import Verdict
from harness.selfcheck.benign import HARMLESS
from harness.selfcheck.binaries import STAGES as BINARIES
from harness.selfcheck.listing import Listing
from harness.selfcheck.texts import PLANTS

Pair = Callable[[str, str], tuple[bytes, bytes]]

TEXTS = [
    ("ring_copy@cuda-90", "ttir"),
    ("two_tasks@cuda-90", "ttgir"),
    ("ring_copy@hip-gfx950", "ttgir"),
    ("ring_copy@cuda-90", "llir"),
    ("ring_copy@hip-gfx950", "llir"),
    ("ring_copy@cuda-90", "ptx"),
    ("ring_copy@hip-gfx950", "amdgcn"),
    ("ring_copy@cuda-90", "sass"),
]
ELFS = [("ring_copy@cuda-90", "cubin"), ("ring_copy@hip-gfx950", "hsaco")]

some = settings(max_examples=60, deadline=None)
texts, seeds = st.sampled_from(TEXTS), st.randoms(use_true_random=False)
sides = st.sampled_from((0, 1))


def planted(stage: str, data: bytes, rng: random.Random) -> bytes | None:
    """``data`` with a change of a kind and at a place of ``rng``'s choice, if it has one."""
    listing = Listing(stage, data)
    places = list(rng.choice(PLANTS[stage]).find(listing))
    return listing.after(rng.choice(places)) if places else None


def changed(stage: str, data: bytes, rng: random.Random) -> bytes:
    """``data`` after a change of any kind, harmless or not, or of one bit."""
    if stage in BINARIES:
        at = rng.randrange(64, len(data))
        return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
    if rng.random() < 0.5:
        return rng.choice(HARMLESS[stage]).change(data.decode(), rng).encode()
    return planted(stage, data, rng) or data


@some
@given(texts, sides, seeds)
def test_everything_else_is_a_difference(
    pair: Pair, sample: tuple[str, str], side: int, rng: random.Random
) -> None:
    data = pair(*sample)[side]
    other = planted(sample[1], data, rng)
    if other is not None:
        found = compare.compare(sample[1], data, other)
        assert found.verdict is Verdict.DIFFERENT
        assert found.hunks


@some
@given(texts, sides, seeds)
def test_what_a_rule_names_is_no_difference(
    pair: Pair, sample: tuple[str, str], side: int, rng: random.Random
) -> None:
    data = pair(*sample)[side]
    harmless = rng.choice(HARMLESS[sample[1]])
    other = harmless.change(data.decode(), rng).encode()
    if other != data:
        found = compare.compare(sample[1], data, other)
        assert found.verdict is Verdict.EQUIVALENT
        assert harmless.rule in found.rules


@some
@given(st.sampled_from([*TEXTS, *ELFS]), sides, seeds)
def test_the_sides_may_be_swapped(
    pair: Pair, sample: tuple[str, str], side: int, rng: random.Random
) -> None:
    data = pair(*sample)[side]
    other = changed(sample[1], data, rng)
    there = compare.compare(sample[1], data, other)
    back = compare.compare(sample[1], other, data)
    assert (there.raw, there.verdict, there.rules) == (back.raw, back.verdict, back.rules)


@some
@given(st.sampled_from([*TEXTS, *ELFS]), sides, seeds)
def test_a_normal_form_is_a_fixed_point(
    pair: Pair, sample: tuple[str, str], side: int, rng: random.Random
) -> None:
    other = changed(sample[1], pair(*sample)[side], rng)
    try:
        form = compare.normalise(sample[1], other)
    except compare.CannotParse:
        return
    assert apply_rules(form, compare.rules_for(sample[1]))[0] == form


@pytest.mark.parametrize("stage", sorted({stage for _, stage in TEXTS}))
def test_every_rule_is_exercised(stage: str) -> None:
    """A rule that the self-check plants nothing for must be tested by name elsewhere."""
    elsewhere = ("module-attr", "reduction-ordering", "scratch", "tensordesc", "private-symbols")
    elsewhere += ("ident", "declaration-order", "addresses")
    missing = {rule.name for rule in compare.rules_for(stage)} - {h.rule for h in HARMLESS[stage]}
    assert [name for name in sorted(missing) if not any(e in name for e in elsewhere)] == []
