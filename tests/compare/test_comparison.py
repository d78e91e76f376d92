"""What every stage has in common: missing sides, bounds, positions."""

import pytest

from harness import compare
from harness.errors import HarnessError
from harness.model import Verdict

PTX = ".target sm_90a\n" + "".join(f"\tmov.b32 \t%x, {i};\n" for i in range(400))


@pytest.mark.parametrize("stage", ["ttir", "ttgir", "llir", "ptx", "cubin", "hsaco", "sass"])
@pytest.mark.parametrize("absent", [None, b""])
def test_a_stage_that_was_not_produced_is_equal_to_nothing(
    stage: str, absent: bytes | None
) -> None:
    reference = compare.compare(stage, absent, b"x")
    candidate = compare.compare(stage, b"x", absent)
    both = compare.compare(stage, absent, absent)
    for result in (reference, candidate, both):
        assert (result.raw, result.verdict) == (Verdict.DIFFERENT, Verdict.DIFFERENT)
    assert reference.note == "not produced by the reference (left)"
    assert candidate.note == "not produced by the candidate (right)"
    assert both.note == "not produced by the reference (left) and the candidate (right)"
    assert len({each.fingerprint for each in (reference, candidate, both)}) == 3


def test_an_unknown_stage_is_a_usage_error() -> None:
    with pytest.raises(HarnessError, match="stage 'spirv'"):
        compare.compare("spirv", b"a", b"b")


def test_hunks_are_limited_and_counted() -> None:
    other = PTX
    for i in range(0, 400, 4):
        other = other.replace(f"%x, {i};", f"%y, {i};")
    result = compare.compare("ptx", PTX.encode(), other.encode())
    assert (len(result.hunks), result.hunks_total) == (50, 100)
    found, total = compare.hunks("ptx", PTX.encode(), other.encode(), limit=3)
    assert found == result.hunks[:3]
    assert total == 100
    assert compare.difference_size("ptx", PTX.encode(), other.encode()) == 100


def test_a_long_hunk_says_what_was_cut() -> None:
    other = ".target sm_90a\n\tadd.s32 \t%x, 1, 1;\n"
    (hunk,) = compare.compare("ptx", PTX.encode(), other.encode()).hunks
    assert len(hunk.left) == 41
    assert hunk.left[-1] == "... (cut: 360 more lines)"
    assert len(hunk.right) == 1
    long = ".target sm_90a\n\t" + "x" * 5000 + "\n"
    (hunk,) = compare.compare("ptx", long.encode(), other.encode()).hunks
    assert hunk.left[0].endswith("... (cut: 3001 more characters)")


def test_positions_are_those_of_the_artifact() -> None:
    """Comments, debug lines and empty lines are dropped from the form, not from the count."""
    left = "//\n// head\n\n.target sm_90a\n\t.loc\t1 2 3\n\n\tmov.b32 \ta, 1;\n\tret;\n"
    right = ".target sm_90a\n\n\n\n\n\n\n\n\tmov.b32 \ta, 2;\n\tret;\n"
    (hunk,) = compare.compare("ptx", left.encode(), right.encode()).hunks
    assert (hunk.left_line, hunk.right_line) == (7, 9)
    assert hunk.context == (".target sm_90a",)
    gone = right.replace("\tmov.b32 \ta, 2;\n", "")
    (hunk,) = compare.compare("ptx", left.encode(), gone.encode()).hunks
    assert (hunk.left_line, hunk.right_line, hunk.right) == (7, 1, ())


def test_bytes_that_are_not_text_are_not_equal() -> None:
    result = compare.compare("ptx", b"\xff\xfe", b".target sm_90a")
    assert result.verdict is Verdict.DIFFERENT
    assert "UTF-8" in result.note
    assert compare.difference_size("ptx", b"\xff\xfe", b".target sm_90a") == 1


def test_only_a_last_line_break_is_still_a_difference_in_mlir() -> None:
    text = b"module {\n}"
    assert compare.compare("ttir", text, text + b"\n").verdict is Verdict.DIFFERENT
