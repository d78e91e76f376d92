"""Panes: every character is kept, colours and marks only wrap it, and marks show what differs."""

import html
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reports import highlight
from reports.highlight import LINE_LENGTH, changed, panes, visible

STAGES = ["ttir", "ttgir", "llir", "ptx", "amdgcn", "sass", "metadata", "cubin", "no such stage"]
lines = st.lists(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=60)
    | st.sampled_from(
        ["%0 = tt.load %arg0 : tensor<128xf16>", "%1 = tt.load %arg1 : tensor<64xf16>",
         "  cp.async.wait_group 1;", "mov.b32 %r1, 16;", '"a" = 1 : i32', "", "// c", "/* open"]
    ),
    max_size=8,
)  # fmt: skip


def plain(markup: str) -> str:
    """The text of a line, and a complaint about anything but spans and marks."""
    assert not re.search(r"<(?!/?(span|mark)\b)", markup)
    return html.unescape(re.sub(r"<[^>]*>", "", markup))


@settings(deadline=None)
@given(st.sampled_from(STAGES), lines, lines)
def test_each_side_reads_as_it_was(stage, left, right):
    laid = panes(stage, left, right, 10, 20)
    assert len(laid.left) == len(laid.right)
    for column, source, first in ((laid.left, left, 10), (laid.right, right, 20)):
        shown = [line for line in column if line is not None]
        assert [plain(line.html) for line in shown] == [visible(line) for line in source]
        assert [line.number for line in shown] == list(range(first, first + len(source)))


@settings(deadline=None)
@given(lines.filter(bool), st.sampled_from(STAGES))
def test_equal_lines_have_no_marks(source, stage):
    laid = panes(stage, source, source)
    assert not any("<mark>" in line.html for line in (*laid.left, *laid.right) if line)


@given(st.text(max_size=40), st.text(max_size=40))
def test_what_is_not_marked_is_common(left, right):
    spans = changed(left, right)
    kept = []
    for text, ranges in zip((left, right), spans, strict=True):
        at, rest = 0, ""
        for low, high in ranges:
            assert at <= low < high <= len(text)
            rest += text[at:low]
            at = high
        kept.append(rest + text[at:])
    if spans != ([], []):
        assert kept[0] == kept[1]


def test_only_the_wait_depth_is_marked():
    laid = panes(
        "ttgir",
        ["    %9 = ttg.async_wait %8 {num = 1 : i32}"],
        ["    %9 = ttg.async_wait %8 {num = 0 : i32}"],
    )
    for column, depth in ((laid.left, "1"), (laid.right, "0")):
        marked = re.findall(r"<mark>(.*?)</mark>", column[0].html)
        assert [plain(piece) for piece in marked] == [depth]


def test_lines_of_the_same_operation_stand_side_by_side():
    laid = panes(
        "ptx",
        ["add.s32 %r1, %r2, 1;", "mul.lo.s32 %r3, %r1, 4;", "cp.async.wait_group 1;"],
        ["cp.async.wait_group 0;"],
    )
    assert laid.right[:2] == (None, None)
    assert "<mark>" in laid.right[2].html


def test_a_difference_far_along_a_line_is_in_sight():
    start = "%0 = arith.constant dense<[" + "1, " * 2000
    laid = panes("ttgir", [start + "7]>"], [start + "8]>"])
    for column, value in ((laid.left, "7"), (laid.right, "8")):
        text = plain(column[0].html)
        assert "characters alike" in text
        assert text.endswith(f"{value}]>")
        assert "<mark>" in column[0].html
        assert len(text) < LINE_LENGTH + 60


def test_a_line_too_long_says_by_how_much():
    (line,) = panes("sass", ["x" * 5000], []).left
    assert plain(line.html).endswith(f"… {5000 - LINE_LENGTH:,} more characters")


@pytest.mark.parametrize("character", ["\x00", "\x1b", "\u202e", "\u2066", "\u200b", "\ufeff"])
def test_characters_that_hide_or_reorder_text_are_spelled_out(character):
    assert visible(f"a{character}b") == f"a‹U+{ord(character):04X}›b"


def test_ordinary_text_is_left_alone():
    text = "é 漢 🙂 → tab\there"
    assert visible(text) == text


def test_syntax_has_colours():
    assert '<span class="k">' in highlight.paint("ptx", ["mov.b32 %r1, 16;"])
    assert '<span class="n">16</span>' in highlight.paint("ptx", ["mov.b32 %r1, 16;"])
    assert "<span" not in highlight.paint("sass", ["MOV R1, c[0x0][0x28] ;"])
