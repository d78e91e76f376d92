"""LLVM IR: insensitive to exactly what each rule names, and to nothing else."""

import random
import re
from collections.abc import Callable

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from harness import compare
from harness.model import Verdict

Pair = Callable[[str, str], tuple[bytes, bytes]]

samples = st.sampled_from(["ring_copy@cuda-90", "ring_copy@hip-gfx950"])
seeds = st.randoms(use_true_random=False)
few = settings(max_examples=40, deadline=None)


def verdict(left: str, right: str) -> tuple[Verdict, set[str]]:
    result = compare.compare("llir", left.encode(), right.encode())
    assert (result.verdict is Verdict.DIFFERENT) == bool(result.hunks_total)
    return result.verdict, set(result.rules)


def equal(left: str, right: str, *rules: str) -> None:
    if left != right:
        assert verdict(left, right) == (Verdict.EQUIVALENT, set(rules))


def shuffled_numbers(text: str, prefix: str, rng: random.Random) -> str:
    """Every ``prefix`` + number renamed, one to one; lines stay where they are."""
    pattern = re.compile(rf"(?<![\w\"\[$]){re.escape(prefix)}(\d+)\b")
    old = sorted({int(match[1]) for match in pattern.finditer(text)})
    new = old.copy()
    rng.shuffle(new)
    table = dict(zip(old, new, strict=True))
    return pattern.sub(lambda match: f"{prefix}{table[int(match[1])]}", text)


@few
@given(samples, seeds)
def test_metadata_numbers_do_not_matter(pair: Pair, sample: str, rng: random.Random) -> None:
    text = pair(sample, "llir")[0].decode()
    other = shuffled_numbers(text, "!", rng)
    lines = other.rstrip("\n").split("\n")
    start = next(i for i, line in enumerate(lines) if re.match(r"!\d+ = ", line))
    nodes = lines[start:]
    rng.shuffle(nodes)
    other = "\n".join([*lines[:start], *nodes]) + "\n"
    result = verdict(text, other)
    assert result[0] is not Verdict.DIFFERENT
    assert result[1] <= {"llvm.debug-info", "llvm.metadata-numbers"}
    assert compare.difference_size("llir", text.encode(), other.encode()) == 0


@few
@given(samples, seeds)
def test_attribute_group_numbers_do_not_matter(pair: Pair, sample: str, rng: random.Random) -> None:
    text = pair(sample, "llir")[0].decode()
    equal(text, shuffled_numbers(text, "#", rng), "llvm.attribute-groups")


@few
@given(samples, seeds)
def test_value_and_block_names_do_not_matter(pair: Pair, sample: str, rng: random.Random) -> None:
    text = pair(sample, "llir")[0].decode()
    names = sorted(set(re.findall(r"%([\w$.-]+)", re.sub(r'"[^"]*"', '""', text))))
    numbers = list(range(len(names)))
    rng.shuffle(numbers)
    table = {name: f"v.{number}" for name, number in zip(names, numbers, strict=True)}
    parts = re.split(r'("[^"]*")', text)
    parts[::2] = [
        re.sub(
            r"(?m)^([\w$.-]+)(?=:)",
            lambda m: table.get(m[1], m[1]),
            re.sub(r"%([\w$.-]+)", lambda m: "%" + table[m[1]], part),
        )
        for part in parts[::2]
    ]
    equal(text, "".join(parts), "llvm.ssa-names")


@few
@given(samples, seeds)
def test_the_order_of_declarations_does_not_matter(
    pair: Pair, sample: str, rng: random.Random
) -> None:
    text = re.sub(r"; Function Attrs.*\n", "", pair(sample, "llir")[0].decode())
    lines = text.split("\n")
    places = [i for i, line in enumerate(lines) if line.startswith("declare ")]
    shuffled = places.copy()
    rng.shuffle(shuffled)
    other = lines.copy()
    for old, new in zip(places, shuffled, strict=True):
        other[new] = lines[old]
    # Each declaration's attribute group moves with it, so nothing else changes.
    equal(text, "\n".join(other), "llvm.declaration-order")


def test_debug_information_does_not_matter(pair: Pair) -> None:
    text = pair("ring_copy@cuda-90", "llir")[0].decode()
    equal(text, text.replace("line: 12", "line: 13"), "llvm.debug-info")
    bare = re.sub(r",? !dbg !\d+", "", text)
    equal(text, bare, "llvm.debug-info")
    bare = "\n".join(line for line in bare.split("\n") if "!DI" not in line and ".dbg." not in line)
    bare = bare.replace("!llvm.module.flags = !{!2, !3}", "!llvm.module.flags = !{!3}")
    bare = bare.replace('!2 = !{i32 2, !"Debug Info Version", i32 3}\n', "")
    bare = re.sub(r"!\d+ = !\{null, .*\n", "", bare)
    equal(text, bare, "llvm.debug-info")


def test_locations_of_loops_do_not_matter_but_hints_do() -> None:
    text = """\
define void @f() {
  br label %1, !llvm.loop !0

1:
  ret void
}

!0 = distinct !{!0, !1, !2}
!1 = !DILocation(line: 1, column: 1, scope: !3)
!2 = !{!"llvm.loop.unroll.disable"}
!3 = distinct !DISubprogram(name: "f")
"""
    equal(text, text.replace("line: 1,", "line: 7,"), "llvm.debug-info")
    without = text.replace("!0, !1, !2", "!0, !2")
    equal(text, without, "llvm.debug-info")
    assert verdict(text, text.replace(".disable", ".enable"))[0] is Verdict.DIFFERENT
    assert verdict(text, text.replace("!0, !1, !2", "!0, !1"))[0] is Verdict.DIFFERENT


def test_comments_and_the_source_name_do_not_matter(pair: Pair) -> None:
    text = pair("ring_copy@cuda-90", "llir")[0].decode()
    equal(text, text.replace("; preds = ", "; from "), "llvm.comments")
    equal(
        text, text.replace('source_filename = "L', 'source_filename = "M'), "llvm.source-filename"
    )
    asm = text.replace("0x4, $2;", "0x4, $2; x")
    assert asm != text
    assert verdict(text, asm)[0] is Verdict.DIFFERENT, "a semicolon in a string is no comment"


def test_the_compiler_of_a_linked_library_does_not_matter() -> None:
    text = 'define void @f() {\n  ret void\n}\n!llvm.ident = !{!0}\n!0 = !{!"clang 20"}\n'
    equal(text, text.replace("clang 20", "clang 21"), "llvm.ident")
    equal(text, "define void @f() {\n  ret void\n}\n", "llvm.ident")


def test_internal_functions_may_have_other_names() -> None:
    text = """\
define internal i32 @"g__(1,)c"(i32 %0) {
  ret i32 %0
}
define void @f() {
  %1 = call i32 @"g__(1,)c"(i32 1)
  ret void
}
"""
    equal(text, text.replace('"g__(1,)c"', "g_c1"), "llvm.private-symbols")
    assert verdict(text, text.replace("@f(", "@h("))[0] is Verdict.DIFFERENT
    callee = text.replace('call i32 @"g__(1,)c"', "call i32 @g_c1")
    assert verdict(text, callee)[0] is Verdict.DIFFERENT


# --- sensitivity --------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(samples, seeds)
def test_another_operand_number_or_word_is_a_difference(
    pair: Pair, sample: str, rng: random.Random
) -> None:
    """One token of one line of code changed, outside of debug information and comments."""
    text = pair(sample, "llir")[0].decode()
    lines = text.split("\n")
    start = next(i for i, line in enumerate(lines) if line.startswith("define "))
    i = rng.choice([k for k in range(start + 1, lines.index("}")) if lines[k].startswith("  ")])
    code = (
        re.split(r", !dbg|;", lines[i])[0] if '"' not in lines[i] else lines[i].split(", !dbg")[0]
    )
    equals = code.find(" = ")
    uses = [m for m in re.finditer(r"%?[\w.$]+", code) if m.start() > equals]
    use = rng.choice(uses)
    if use[0].startswith("%"):
        names = {m for line in lines[start:i] for m in re.findall(r"^  (%[\w.]+) = ", line)}
        assume(names - {use[0]})
        new = rng.choice(sorted(names - {use[0]}))
    else:
        new = str(int(use[0]) + 1) if use[0].isdigit() else use[0] + "x"
    assume(not re.search(r"![\w.]*$", code[: use.start()]))
    lines[i] = code[: use.start()] + new + lines[i][use.end() :]
    assert verdict(text, "\n".join(lines))[0] is Verdict.DIFFERENT


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("#0 = { nounwind", "#0 = { nounwind convergent"),
        ('"nvvm.reqntid"="128"', '"nvvm.reqntid"="256"'),
        ('nvvm-reflect-ftz", i32 1', 'nvvm-reflect-ftz", i32 0'),
        ('target datalayout = "e', 'target datalayout = "E'),
        ("addrspace(3) global [0 x i8], align 16", "addrspace(3) global [0 x i8], align 32"),
        ("declare void @llvm.nvvm.cp.async.commit.group() #2", ""),
        ("(i32 immarg) #2", "(i32 immarg) #1"),
    ],
)
def test_what_surrounds_the_code_is_compared(pair: Pair, old: str, new: str) -> None:
    text = pair("ring_copy@cuda-90", "llir")[0].decode()
    assert old in text
    assert verdict(text, text.replace(old, new))[0] is Verdict.DIFFERENT


def test_alias_scopes_are_compared(pair: Pair) -> None:
    text = pair("ring_copy@hip-gfx950", "llir")[0].decode()
    scoped = re.search(r", !(?:alias\.scope|noalias) !\d+", text)
    assert scoped
    without = text.replace(scoped[0], "", 1)
    assert verdict(text, without)[0] is Verdict.DIFFERENT


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda text: text.replace("\n}\n", "\n"), "without its end"),
        (lambda text: text.replace("!3 = !{i32 4", "!77 = !{i32 4"), "!3 is used but not defined"),
        (lambda text: text.replace("!3 = !{i32 4", "!4 = !{i32 4"), "!4 is defined twice"),
    ],
)
def test_what_cannot_be_parsed_is_not_equal(
    pair: Pair, damage: Callable[[str], str], why: str
) -> None:
    text = pair("ring_copy@cuda-90", "llir")[0].decode()
    result = compare.compare("llir", text.encode(), damage(text).encode())
    assert result.verdict is Verdict.DIFFERENT
    assert why in result.note


def test_one_more_value_in_the_second_function_is_one_hunk() -> None:
    """The numbers after it shift, and the same names mean other values in the first function."""
    function = """\
define void @{name}(i32 %0) {{
  %2 = add i32 %0, 1
{more}  %{last} = mul i32 %2, %0
  call void @use(i32 %{last}, i32 %2)
  ret void
}}
"""
    first = function.format(name="f", more="", last=3)
    left = first + function.format(name="g", more="", last=3)
    right = first + function.format(name="g", more="  %3 = xor i32 %2, 7\n", last=4)
    result = compare.compare("llir", left.encode(), right.encode())
    assert (result.verdict, result.hunks_total) == (Verdict.DIFFERENT, 1)
    assert [line.split(" = ")[1][:3] for line in result.hunks[0].right] == ["xor"]
    assert result.hunks[0].region == "@g"
