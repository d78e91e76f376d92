"""Differences: complete, small, and with a fingerprint that follows the difference only."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from harness.compare.text import NOTHING
from harness.compare.textdiff import Difference

NAME = re.compile(r"%\d+")
few = settings(max_examples=60, deadline=None)


def program(operands: list[tuple[str, int]]) -> list[str]:
    """Each line defines a value from an earlier one."""
    return [
        f"%{i} = {operation} %{max(0, i - back)}" for i, (operation, back) in enumerate(operands)
    ]


programs = st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 5)), max_size=25)


@few
@given(programs, programs)
def test_spans_cover_the_difference(one: list[tuple[str, int]], two: list[tuple[str, int]]) -> None:
    left, right = program(one), program(two)
    difference = Difference(left, right, NAME)
    assert bool(difference.spans) == (left != right)
    patched: list[str] = []
    at = 0
    for span in difference.spans:
        patched += [re.sub(NAME, "%", line) for line in left[at : span.left_start]]
        patched += [re.sub(NAME, "%", line) for line in right[span.right_start : span.right_end]]
        at = span.left_end
    patched += [re.sub(NAME, "%", line) for line in left[at:]]
    assert patched == [re.sub(NAME, "%", line) for line in right]


@few
@given(programs, st.permutations(range(30)))
def test_a_renaming_one_to_one_is_no_difference(
    one: list[tuple[str, int]], order: list[int]
) -> None:
    left = program(one)
    right = [NAME.sub(lambda m: f"%{order[int(m[0][1:])] + 100}", line) for line in left]
    assert Difference(left, right, NAME).size == 0


@few
@given(programs.filter(len), st.data())
def test_an_insertion_is_one_span(one: list[tuple[str, int]], draw: st.DataObject) -> None:
    """All later numbers shift, and only the new line is a difference."""
    left = program(one)
    at = draw.draw(st.integers(0, len(left) - 1))
    shifted = [
        NAME.sub(lambda m: f"%{int(m[0][1:]) + (int(m[0][1:]) >= at)}", line) for line in left
    ]
    right = [*shifted[:at], f"%{at} = new", *shifted[at:]]
    difference = Difference(left, right, NAME)
    assert [(s.left_start, s.left_end, s.right_start, s.right_end) for s in difference.spans] == [
        (at, at, at, at + 1)
    ]
    assert difference.size == 1


def test_another_wire_is_a_difference_though_the_erased_lines_agree() -> None:
    left = ["%0 = a", "%1 = b", "%2 = c %0", "use %2"]
    right = ["%0 = a", "%1 = b", "%2 = c %1", "use %2"]
    difference = Difference(left, right, NAME)
    assert [tuple(span) for span in difference.spans] == [(2, 3, 2, 3)]
    assert difference.translated(right[2:3]) == ("%2 = c %1",)


def test_swapped_values_of_equal_shape_are_a_difference() -> None:
    left = ["%0 = a", "%1 = a", "use %0, %1"]
    right = ["%0 = a", "%1 = a", "use %1, %0"]
    assert Difference(left, right, NAME).size == 1


def test_names_in_strings_are_text() -> None:
    assert Difference(['asm "mov %1"', "x %1"], ['asm "mov %2"', "x %1"], NAME).size == 1


def test_many_lines_are_compared_by_contents() -> None:
    left = [f"line {i}" for i in range(30_000)]
    right = [line for line in left if line != "line 20000"]
    right.insert(10_000, "line new")
    assert [tuple(span) for span in Difference(left, right, NOTHING).spans] == [
        (10_000, 10_000, 10_000, 10_001),
        (20_000, 20_001, 20_001, 20_001),
    ]


# --- fingerprints -------------------------------------------------------------------------

LEFT = ["%0 = arg", "%1 = load %0", "%2 = wait 1", "%3 = use %1, %2"]
RIGHT = ["%0 = arg", "%1 = load %0", "%2 = wait 0", "%3 = use %1, %2"]


def fingerprint(left: list[str], right: list[str]) -> str:
    value = Difference(left, right, NAME).fingerprint()
    assert re.fullmatch("[0-9a-f]{16}", value)
    return value


def shifted(lines: list[str], by: int) -> list[str]:
    return [NAME.sub(lambda m: f"%{int(m[0][1:]) + by}", line) for line in lines]


@few
@given(programs, programs)
def test_unrelated_code_does_not_change_a_fingerprint(
    before: list[tuple[str, int]], after: list[tuple[str, int]]
) -> None:
    head = program(before)
    tail = shifted(program(after), 100)
    moved = [[*head, *shifted(side, len(head)), *tail] for side in (LEFT, RIGHT)]
    assert fingerprint(*moved) == fingerprint(LEFT, RIGHT)


def test_another_difference_has_another_fingerprint() -> None:
    base = fingerprint(LEFT, RIGHT)
    deeper = [line.replace("wait 0", "wait 2") for line in RIGHT]
    moved = [LEFT[0], LEFT[1], LEFT[3].replace("%3", "%4"), LEFT[2].replace("%2", "%5")]
    wired = [*RIGHT[:3], "%3 = use %0, %2"]
    more = [*RIGHT, "%4 = more"]
    others = [fingerprint(LEFT, side) for side in (deeper, moved, wired, more)]
    others.append(fingerprint(RIGHT, LEFT))
    assert len({base, *others}) == 6


def test_the_operand_that_is_read_instead_is_part_of_the_fingerprint() -> None:
    head = ["%0 = a", "%1 = b", "%2 = c"]
    left = [*head, "use %0"]
    assert fingerprint(left, [*head, "use %1"]) != fingerprint(left, [*head, "use %2"])
