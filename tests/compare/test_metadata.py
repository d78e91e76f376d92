"""Launch metadata: values are compared, formatting is not."""

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from harness import compare
from harness.model import Verdict

FORK = {
    "name": "ring_copy",
    "num_warps": 4,
    "num_ctas": 1,
    "cluster_dims": [1, 1, 1],
    "shared": 1024,
    "tensordesc_meta": [{"swizzle": 3, "block_size": [64, 64]}],
}


def encode(record: object, **options: object) -> bytes:
    return json.dumps(record, **options).encode()  # type: ignore[arg-type]


def test_formatting_does_not_matter() -> None:
    reversed_keys = dict(reversed(FORK.items()))
    result = compare.compare("metadata", encode(FORK), encode(reversed_keys, indent=2))
    assert (result.verdict, result.rules) == (Verdict.EQUIVALENT, ("metadata.formatting",))


def test_no_cluster_is_a_cluster_of_one() -> None:
    result = compare.compare("metadata", encode(FORK), encode(FORK | {"cluster_dims": None}))
    assert result.verdict is Verdict.EQUIVALENT
    assert result.rules == ("metadata.formatting", "metadata.cluster-dims")


values = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.text(max_size=3))


@given(st.sampled_from(sorted(FORK)), values)
def test_another_value_is_a_difference(key: str, value: object) -> None:
    other = FORK | {key: value}
    assume(encode(other) != encode(FORK))
    assume(other["cluster_dims"] is not None)
    result = compare.compare("metadata", encode(FORK), encode(other))
    assert result.verdict is Verdict.DIFFERENT
    (hunk,) = result.hunks
    assert hunk.left == (() if key == "cluster_dims" else (f"{key} = {_sorted(FORK[key])}",))
    assert hunk.right == (f"{key} = {_sorted(value)}",)


def _sorted(value: object) -> str:
    return json.dumps(value, sort_keys=True)


@pytest.mark.parametrize("cluster", [[2, 1, 1], [1, 1], [], 1, "1"])
def test_another_cluster_is_a_difference(cluster: object) -> None:
    for left, right in ((None, cluster), ([1, 1, 1], cluster)):
        sides = (encode(FORK | {"cluster_dims": each}) for each in (left, right))
        assert compare.compare("metadata", *sides).verdict is Verdict.DIFFERENT


@pytest.mark.parametrize("text", [b"{", b"[]", b'{"a": 1, "a": 2}', b"\xff\xfe"])
def test_what_cannot_be_parsed_is_not_equal(text: bytes) -> None:
    result = compare.compare("metadata", text, encode(FORK))
    assert result.verdict is Verdict.DIFFERENT
    assert "reference" in result.note
