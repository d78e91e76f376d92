"""Verdicts on what the two toolchains really made."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness import compare
from harness.compare.rules import apply_rules
from harness.model import Verdict

Pair = Callable[[str, str], tuple[bytes, bytes]]

FORK_MARKS = (
    "mlir.module-attr:ttg.min_reg_auto_ws",
    "mlir.module-attr:ttg.early_tma_store_lowering",
    "mlir.module-attr:ttg.cluster-dim-x",
    "mlir.module-attr:ttg.cluster-dim-y",
    "mlir.module-attr:ttg.cluster-dim-z",
)


@pytest.mark.parametrize(
    ("case", "stage", "rules"),
    [
        (
            "ring_copy@cuda-90",
            "ttir",
            (
                "mlir.module-attr:tlx.has_explicit_local_mem_access",
                "mlir.module-attr:ttg.num-ctas",
                "mlir.module-attr:ttg.target",
                "mlir.constant-order",
            ),
        ),
        (
            "two_tasks@cuda-90",
            "ttgir",
            ("mlir.module-attr:tlx.has_warp_spec_ops", *FORK_MARKS),
        ),
        ("row_sum@cuda-80", "ttgir", (*FORK_MARKS, "mlir.reduction-ordering")),
        (
            "noinline_call@cuda-90",
            "ttir",
            ("mlir.reduction-ordering", "mlir.private-symbols"),
        ),
        ("thread_ids@cuda-100", "ptx", ("ptx.version",)),
        ("bit_view@hip-gfx942", "amdgcn", ("amdgcn.debug-info",)),
        ("bit_view@cuda-90", "cubin", ("elf.layout", "elf.debug-info")),
        (
            "bit_view@hip-gfx942",
            "hsaco",
            ("elf.layout", "elf.comment", "elf.debug-info"),
        ),
    ],
)
def test_equal_but_for_the_named_rules(
    pair: Pair, case: str, stage: str, rules: tuple[str, ...]
) -> None:
    left, right = pair(case, stage)
    result = compare.compare(stage, left, right)
    assert (result.raw, result.verdict) == (Verdict.DIFFERENT, Verdict.EQUIVALENT)
    assert result.rules == rules
    assert not result.hunks
    assert compare.difference_size(stage, left, right) == 0


def test_ring_copy_waits_for_another_depth(pair: Pair) -> None:
    left, right = pair("ring_copy@cuda-90", "ttgir")
    result = compare.compare("ttgir", left, right)
    assert result.verdict is Verdict.DIFFERENT
    assert (result.rules, result.note, result.hunks_total) == ((), "", 1)
    (hunk,) = result.hunks
    assert hunk.region == "@ring_copy"
    assert [line.strip() for line in hunk.left] == ["%36 = ttg.async_wait {num = 1 : i32}"]
    assert [line.strip() for line in hunk.right] == ["%36 = ttg.async_wait {num = 0 : i32}"]
    assert b"async_wait" in left.splitlines()[hunk.left_line - 1]
    assert b"async_wait" in right.splitlines()[hunk.right_line - 1]
    assert compare.difference_size("ttgir", left, right) == 1


@pytest.mark.parametrize(
    ("stage", "region", "left", "right"),
    [
        ("llir", "@ring_copy / %32", "wait.group(i32 1)", "wait.group(i32 0)"),
        ("ptx", "ring_copy / $L_1", "cp.async.wait_group 	1;", "cp.async.wait_group 	0;"),
        ("sass", "ring_copy", "DEPBAR.LE SB0, 0x1 ;", "DEPBAR.LE SB0, 0x0 ;"),
    ],
)
def test_the_wait_is_the_only_difference_down_to_the_instruction(
    pair: Pair, stage: str, region: str, left: str, right: str
) -> None:
    result = compare.compare(stage, *pair("ring_copy@cuda-90", stage))
    assert (result.verdict, result.hunks_total) == (Verdict.DIFFERENT, 1)
    (hunk,) = result.hunks
    assert hunk.region == region
    assert len(hunk.left) == len(hunk.right) == 1
    assert left in hunk.left[0]
    assert right in hunk.right[0]


def test_a_cubin_shows_its_code(pair: Pair) -> None:
    cubins = pair("ring_copy@cuda-90", "cubin")
    text = dict(zip(cubins, pair("ring_copy@cuda-90", "sass"), strict=True))
    shown = compare.compare("cubin", *cubins, disassemble=lambda cubin: text[cubin].decode())
    assert [hunk.region for hunk in shown.hunks] == ["ring_copy"]
    assert "DEPBAR.LE SB0, 0x1" in shown.hunks[0].left[0]

    rows = compare.compare("cubin", *cubins)
    assert [hunk.region for hunk in rows.hunks] == [".text.ring_copy"]
    assert (len(rows.hunks[0].left), len(rows.hunks[0].right)) == (1, 1)
    assert rows.fingerprint == shown.fingerprint


def test_sass_may_be_given_as_cubins(pair: Pair) -> None:
    cubins = pair("ring_copy@cuda-90", "cubin")
    texts = pair("ring_copy@cuda-90", "sass")
    table = dict(zip(cubins, texts, strict=True))
    from_cubins = compare.compare("sass", *cubins, lambda cubin: table[cubin].decode())
    assert from_cubins == compare.compare("sass", *texts)


def test_amd_waits_differ_and_so_does_the_metadata_of_the_binary(pair: Pair) -> None:
    ttgir = compare.compare("ttgir", *pair("ring_copy@hip-gfx950", "ttgir"))
    assert [hunk.left[0].split(" = ", 1)[1] for hunk in ttgir.hunks] == [
        "ttg.async_wait {num = 1 : i32}"
    ]
    binary = compare.compare("hsaco", *pair("ring_copy@hip-gfx950", "hsaco"))
    assert binary.verdict is Verdict.DIFFERENT
    notes = [hunk for hunk in binary.hunks if hunk.region == ".note"]
    assert [hunk.left[0] for hunk in notes] == ["/amdhsa.kernels/0/.sgpr_count = 26"]
    assert {hunk.region for hunk in binary.hunks} >= {".text", ".note", "symbol"}
    assert not {hunk.region for hunk in binary.hunks} & {".comment", ".debug_line", "layout"}


def test_a_raw_stage_file_normalises_to_its_checkpoint(pair: Pair) -> None:
    raw = (Path(__file__).parent / "data/ring_copy@cuda-90/plugin.raw.ttgir").read_bytes()
    checkpoint = pair("ring_copy@cuda-90", "ttgir")[1]
    result = compare.compare("ttgir", raw, checkpoint)
    assert result.verdict is Verdict.EQUIVALENT
    assert result.rules == ("mlir.debug-locations", "mlir.ssa-names")


STAGES = [
    ("ring_copy@cuda-90", "ttir"),
    ("ring_copy@cuda-90", "ttgir"),
    ("ring_copy@cuda-90", "llir"),
    ("ring_copy@cuda-90", "ptx"),
    ("ring_copy@cuda-90", "cubin"),
    ("ring_copy@cuda-90", "sass"),
    ("ring_copy@hip-gfx950", "ttgir"),
    ("ring_copy@hip-gfx950", "llir"),
    ("ring_copy@hip-gfx950", "amdgcn"),
    ("ring_copy@hip-gfx950", "hsaco"),
]


@pytest.mark.parametrize(("case", "stage"), STAGES)
def test_a_side_is_identical_to_itself(pair: Pair, case: str, stage: str) -> None:
    for side in pair(case, stage):
        result = compare.compare(stage, side, bytes(side))
        assert (result.raw, result.verdict) == (Verdict.IDENTICAL, Verdict.IDENTICAL)
        assert (result.rules, result.fingerprint, result.hunks) == ((), "", ())


@pytest.mark.parametrize(("case", "stage"), STAGES)
def test_swapping_the_sides_swaps_the_hunks_and_changes_the_fingerprint(
    pair: Pair, case: str, stage: str
) -> None:
    left, right = pair(case, stage)
    there, back = compare.compare(stage, left, right), compare.compare(stage, right, left)
    assert (there.verdict, there.rules) == (back.verdict, back.rules)
    if there.verdict is Verdict.DIFFERENT:
        assert there.fingerprint != back.fingerprint
        assert len(there.fingerprint) == len(back.fingerprint) == 16
        assert compare.difference_size(stage, left, right) == compare.difference_size(
            stage, right, left
        )


@pytest.mark.parametrize(("case", "stage"), STAGES)
def test_the_short_question_has_the_long_one_s_answer(pair: Pair, case: str, stage: str) -> None:
    left, right = pair(case, stage)
    verdict = compare.compare(stage, left, right).verdict
    assert compare.equivalent(stage, left, right) is (verdict is not Verdict.DIFFERENT)
    assert compare.equivalent(stage, left, left)


def test_what_cannot_be_read_is_not_called_equal() -> None:
    assert not compare.equivalent("ptx", b"\xff\xfe", b".target sm_90a")
    assert compare.equivalent("ptx", b"\xff\xfe", b"\xff\xfe")


@pytest.mark.parametrize(("case", "stage"), STAGES)
def test_a_normal_form_is_its_own_normal_form(pair: Pair, case: str, stage: str) -> None:
    for side in pair(case, stage):
        form = compare.normalise(stage, side)
        assert apply_rules(form, compare.rules_for(stage))[0] == form
