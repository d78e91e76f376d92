"""PTX and AMD GCN: insensitive to exactly what each rule names, and to nothing else."""

import random
import re
from collections.abc import Callable

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from harness import compare
from harness.model import Verdict

Pair = Callable[[str, str], tuple[bytes, bytes]]

PTX = ["ring_copy@cuda-90", "thread_ids@cuda-100"]
GCN = ["ring_copy@hip-gfx950", "bit_view@hip-gfx942"]

seeds = st.randoms(use_true_random=False)
few = settings(max_examples=40, deadline=None)


def verdict(stage: str, left: str, right: str) -> tuple[Verdict, set[str]]:
    result = compare.compare(stage, left.encode(), right.encode())
    assert (result.verdict is Verdict.DIFFERENT) == bool(result.hunks_total)
    return result.verdict, set(result.rules)


def equal(stage: str, left: str, right: str, *rules: str) -> None:
    if left != right:
        assert verdict(stage, left, right) == (Verdict.EQUIVALENT, set(rules))


def renumbered(text: str, pattern: str, rng: random.Random, gap: int = 3) -> str:
    """Every number behind ``pattern`` replaced, one to one, by numbers with gaps."""
    found = re.compile(rf"({pattern})(\d+)\b")
    table: dict[str, str] = {}
    for prefix in sorted({match[1] for match in found.finditer(text)}):
        old = sorted({match[2] for match in found.finditer(text) if match[1] == prefix}, key=int)
        new = [str(gap * k) for k in range(len(old))]
        rng.shuffle(new)
        table.update({prefix + a: prefix + b for a, b in zip(old, new, strict=True)})
    return found.sub(lambda match: table[match[0]], text)


@few
@given(st.sampled_from(PTX), seeds)
def test_virtual_register_numbers_do_not_matter(
    pair: Pair, sample: str, rng: random.Random
) -> None:
    text = pair(sample, "ptx")[0].decode()
    other = re.sub(
        r"(\.reg \.\w+\s+%\w+)<(\d+)>",
        lambda match: f"{match[1]}<{3 * int(match[2])}>",
        renumbered(text, r"%(?:rd|rs|r|p)", rng),
    )
    equal("ptx", text, other, "ptx.registers")
    assert compare.difference_size("ptx", text.encode(), other.encode()) == 0


@few
@given(seeds)
def test_ptx_label_numbers_do_not_matter(pair: Pair, rng: random.Random) -> None:
    text = pair("ring_copy@cuda-90", "ptx")[0].decode()
    equal("ptx", text, renumbered(text, r"\$L__BB0_", rng), "ptx.labels")


@few
@given(st.sampled_from(GCN), seeds)
def test_gcn_label_numbers_do_not_matter(pair: Pair, sample: str, rng: random.Random) -> None:
    text = pair(sample, "amdgcn")[0].decode()
    equal("amdgcn", text, renumbered(text, r"\.LBB0_", rng), "amdgcn.labels")


def test_ptx_debug_information_does_not_matter(pair: Pair) -> None:
    text = pair("ring_copy@cuda-90", "ptx")[0].decode()
    equal("ptx", text, re.sub(r"(\.loc\s+1 )\d+", r"\g<1>99", text), "ptx.debug-info")
    bare = text[: text.index("\t.file\t1")]
    bare = re.sub(r"(?m)^(\t\.loc.*|\$L__(tmp|func_begin|func_end)\d+:)\n", "", bare)
    equal("ptx", text, bare, "ptx.debug-info")


def test_gcn_debug_information_does_not_matter(pair: Pair) -> None:
    text = pair("ring_copy@hip-gfx950", "amdgcn")[0].decode()
    equal("amdgcn", text, re.sub(r"(\.loc\s+1 )\d+", r"\g<1>99", text), "amdgcn.debug-info")
    bare = re.sub(r"(?m)^\t\.(loc|file|cfi_\w+)\b.*\n", "", text)
    section = r"(?ms)^\t\.section\t\.debug_.*?(?=^\t\.section\t\"?\.note|^\t\.amdgpu|\Z)"
    assert verdict("amdgcn", text, re.sub(section, "\n", bare)) == (
        Verdict.EQUIVALENT,
        {"amdgcn.debug-info", "amdgcn.comments"},
    )


@pytest.mark.parametrize(
    ("case", "stage", "old", "new", "rule"),
    [
        (PTX[0], "ptx", "-- Begin function", "-- The function", "ptx.comments"),
        (PTX[0], "ptx", ".version 8", ".version 9", "ptx.version"),
        (GCN[0], "amdgcn", "; NumVgprs: 9", "; NumVgprs: 8", "amdgcn.comments"),
    ],
)
def test_comments_and_versions_do_not_matter(
    pair: Pair, case: str, stage: str, old: str, new: str, rule: str
) -> None:
    text = pair(case, stage)[0].decode()
    assert old in text
    equal(stage, text, text.replace(old, new), rule)


def test_the_compiler_that_wrote_gcn_does_not_matter(pair: Pair) -> None:
    text = pair(GCN[0], "amdgcn")[0].decode()
    equal(
        "amdgcn",
        text,
        text.replace("\t.section\t.rodata", '\t.ident\t"a"\n\t.section\t.rodata'),
        ("amdgcn.ident"),
    )


def test_private_functions_may_have_other_names() -> None:
    text = """\
.visible .entry f(
	.param .u32 f_param_0
)
{
	call.uni (retval0), g_$_1, (param0);
	ret;
}
.func  (.param .b32 func_retval0) g_$_1(
	.param .b32 g_$_1_param_0
)
{
	ld.param.b32 	%r1, [g_$_1_param_0];
	ret;
}
"""
    equal("ptx", text, text.replace("g_$_1", "g_c1"), "ptx.private-symbols")
    assert verdict("ptx", text, text.replace("entry f(", "entry h("))[0] is Verdict.DIFFERENT
    assert verdict("ptx", text, text.replace("retval0), g_$_1", "retval0), h"))[0] is (
        Verdict.DIFFERENT
    )


# --- sensitivity --------------------------------------------------------------------------


def mutate(text: str, stage: str, rng: random.Random) -> str:
    """One operand, number or word of one instruction or directive that is compared."""
    lines = text.split("\n")
    stop = (
        next(i for i, line in enumerate(lines) if re.match(r"\t\.(file\t1|section\t\.debug)", line))
        if ".debug_" in text
        else len(lines)
    )
    ignored = re.compile(r"\s*(\.loc|\.file|\.cfi|\.version|\.reg|//|;|[$.]L\w+:|$)")
    i = rng.choice([k for k in range(stop) if not ignored.match(lines[k])])
    code = re.split(r"//|;" if stage == "ptx" else r";", lines[i])[0]
    tokens = [
        match
        for match in re.finditer(r"[%$]?[\w.]*\w", code)
        if not re.search(r"[$.]?L__?\w+$", match[0])
    ]
    assume(tokens)
    token = rng.choice(tokens)
    match = re.fullmatch(r"(%(?:rd|rs|r|p))(\d+)", token[0])
    if match and stage == "ptx":
        others = sorted({r for r in re.findall(rf"{match[1]}\d+\b", text) if r != token[0]})
        assume(others)
        new = rng.choice(others)
    else:
        new = str(int(token[0]) + 1) if token[0].isdigit() else token[0] + "x"
    lines[i] = lines[i][: token.start()] + new + lines[i][token.end() :]
    return "\n".join(lines)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from([("ptx", case) for case in PTX] + [("amdgcn", case) for case in GCN]), seeds)
def test_another_operand_number_or_word_is_a_difference(
    pair: Pair, sample: tuple[str, str], rng: random.Random
) -> None:
    stage, case = sample
    text = pair(case, stage)[0].decode()
    assert verdict(stage, text, mutate(text, stage, rng))[0] is Verdict.DIFFERENT


@pytest.mark.parametrize(
    ("case", "stage", "old", "new"),
    [
        (PTX[0], "ptx", ".target sm_90a", ".target sm_90"),
        (PTX[0], "ptx", ".reqntid 128", ".reqntid 256"),
        (PTX[0], "ptx", "cp.async.wait_group \t1;", "cp.async.wait_group \t2;"),
        (PTX[0], "ptx", "bra \t$L__BB0_2", "bra \t$L__BB0_3"),
        (PTX[0], "ptx", "%tid.x", "%ctaid.x"),
        (GCN[0], "amdgcn", "s_waitcnt vmcnt(0) lgkmcnt(0)", "s_waitcnt lgkmcnt(0)"),
        (GCN[0], "amdgcn", ".amdhsa_next_free_vgpr 9", ".amdhsa_next_free_vgpr 10"),
        (GCN[0], "amdgcn", ".sgpr_count:     26", ".sgpr_count:     30"),
        (GCN[0], "amdgcn", "s_branch .LBB0_5", "s_branch .LBB0_6"),
    ],
)
def test_what_is_executed_is_compared(
    pair: Pair, case: str, stage: str, old: str, new: str
) -> None:
    text = pair(case, stage)[0].decode()
    assert old in text
    assert verdict(stage, text, text.replace(old, new, 1))[0] is Verdict.DIFFERENT


def test_registers_of_two_functions_are_not_mixed_up() -> None:
    """Another register in the second function only; both functions use the same names."""
    function = """\
.visible .entry {name}(
)
{{
	.reg .b32 	%r<3>;
	mov.u32 	%r1, %tid.x;
	add.s32 	%r2, %r1, 1;
	st.global.b32 	[a], %r{used};
}}
"""
    left = function.format(name="f", used=2) + function.format(name="g", used=2)
    right = function.format(name="f", used=2) + function.format(name="g", used=1)
    assert verdict("ptx", left, right)[0] is Verdict.DIFFERENT
    other = left.replace("%r2", "%r7")
    equal("ptx", left, other, "ptx.registers")


def test_special_registers_are_not_virtual() -> None:
    text = "{\n\t.reg .b32 \t%r<3>;\n\tmov.u32 \t%r1, %envreg3;\n\tmov.u32 \t%r2, %clock;\n}\n"
    assert verdict("ptx", text, text.replace("%envreg3", "%envreg4"))[0] is Verdict.DIFFERENT


def test_a_truncated_debug_section_is_not_equal(pair: Pair) -> None:
    text = pair("ring_copy@cuda-90", "ptx")[0].decode()
    cut = text[: text.index("DW_TAG_compile_unit")]
    result = compare.compare("ptx", text.encode(), cut.encode())
    assert result.verdict is Verdict.DIFFERENT
    assert "ptx.debug-info: a debug section without its end" in result.note
    assert "candidate" in result.note
