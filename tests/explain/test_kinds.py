import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import compare
from harness.explain.kinds import classify, summarise
from harness.model import Hunk


def hunk(left="", right="", region="kernel"):
    """A hunk of two texts, indentation kept."""
    sides = (tuple(side.strip("\n").split("\n")) if side.strip() else () for side in (left, right))
    return Hunk(region, 1, 1, *sides)


def kind(stage, left, right, region="kernel"):
    found = classify(stage, hunk(left, right, region))
    return found.kind, found.significance


# One planted difference each. {a} and {b} are the two sides of one line.

MEMDESC = "!ttg.memdesc<128x64xf16, #nvmma_shared.d840a60e7285, #shared_memory.980f29f910ab>"
PLANTED = [
    # waits
    (
        "ttgir",
        "    %26 = ttg.async_wait {num = 1 : i32}",
        "    %26 = ttg.async_wait {num = 0 : i32}",
        "wait depth 1 -> 0 (ttg.async_wait)",
        "significant",
    ),
    (
        "ttgir",
        "    %9 = ttng.warp_group_dot_wait %8 {pendings = 1 : i32} : tensor<64x64xf32>",
        "    %9 = ttng.warp_group_dot_wait %8 {pendings = 0 : i32} : tensor<64x64xf32>",
        "wait depth 1 -> 0 (ttng.warp_group_dot_wait)",
        "significant",
    ),
    (
        "ttgir",
        "    ttng.async_tma_store_wait {pendings = 0 : i32}",
        "    ttng.async_tma_store_wait {pendings = 0 : i32, read_only}",
        "attribute differs: read_only none -> set",
        "unclear",
    ),
    (
        "llir",
        "  tail call void @llvm.nvvm.cp.async.wait.group(i32 2)",
        "  call void @llvm.nvvm.cp.async.wait.group(i32 0)",
        "wait depth 2 -> 0 (llvm.nvvm.cp.async.wait.group)",
        "significant",
    ),
    (
        "llir",
        "  tail call void @llvm.amdgcn.s.waitcnt(i32 49279)",
        "  tail call void @llvm.amdgcn.s.waitcnt(i32 3952)",
        "wait depth lgkmcnt(0) -> vmcnt(0) (llvm.amdgcn.s.waitcnt)",
        "significant",
    ),
    (
        "ptx",
        "\tcp.async.wait_group \t1;",
        "\tcp.async.wait_group \t0;",
        "wait depth 1 -> 0 (cp.async.wait_group)",
        "significant",
    ),
    (
        "ptx",
        "\twgmma.wait_group.sync.aligned 1;",
        "\twgmma.wait_group.sync.aligned 0;",
        "wait depth 1 -> 0 (wgmma.wait_group)",
        "significant",
    ),
    (
        "amdgcn",
        "\ts_waitcnt vmcnt(2) lgkmcnt(0)",
        "\ts_waitcnt vmcnt(0)",
        "wait depth vmcnt(2) lgkmcnt(0) -> vmcnt(0) (s_waitcnt)",
        "significant",
    ),
    (
        "sass",
        "        DEPBAR.LE SB0, 0x1 ; /* 0x000080400000791a */",
        "        DEPBAR.LE SB0, 0x0 ; /* 0x000080000000791a */",
        "wait depth 1 -> 0 (DEPBAR)",
        "significant",
    ),
    # operations of one side
    (
        "ttgir",
        "",
        "    %5 = ttg.convert_layout %4 : tensor<64xi1, #blocked.1> -> tensor<64xi1, #blocked.2>",
        "op only on plugin side: ttg.convert_layout",
        "significant",
    ),
    (
        "ttgir",
        '    ttng.fence {scope = "gpu"}',
        "",
        "op only on fork side: ttng.fence",
        "significant",
    ),
    (
        "ttgir",
        "",
        "    %24 = arith.constant true",
        "op only on plugin side: arith.constant",
        "unclear",
    ),
    ("ptx", "\tbar.sync \t0;", "", "op only on fork side: bar.sync", "significant"),
    ("sass", "", "  BAR.SYNC 0x0 ;", "op only on plugin side: BAR.SYNC", "significant"),
    (
        "amdgcn",
        "\tbuffer_store_dword v1, v2, s[0:3], 0 offen",
        "",
        "op only on fork side: buffer_store_dword",
        "significant",
    ),
    # layouts and types
    (
        "ttgir",
        "    %5 = tt.make_range {end = 64 : i32} : tensor<64xi32, #blocked.d33008570da3>",
        "    %5 = tt.make_range {end = 64 : i32} : tensor<64xi32, #blocked.65a22a13caa1>",
        "layout differs: blocked.d33008 -> blocked.65a22a",
        "significant",
    ),
    (
        "ttgir",
        "    %5 = tt.splat %1 : i32 -> tensor<64xi32, "
        "#ttg.slice<{dim = 0, parent = #blocked.822746f44e67}>>",
        "    %5 = tt.splat %1 : i32 -> tensor<64xi32, #blocked.65a22a13caa1>",
        "layout differs: slice of blocked.822746 -> blocked.65a22a",
        "significant",
    ),
    (
        "ttgir",
        "#blocked.175579e61eea = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 4], "
        "warpsPerCTA = [8, 1], order = [1, 0]}>",
        "#blocked.fd7381671b32 = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], "
        "warpsPerCTA = [8, 1], order = [1, 0]}>",
        "layout differs: blocked sizePerThread [1, 8] -> [1, 4]",
        "significant",
    ),
    (
        "ttgir",
        "    %3 = ttg.local_alloc : () -> !ttg.memdesc<2xi64, #swizzled_shared.411773f3b47f>",
        "    %3 = ttg.local_alloc : () -> !ttg.memdesc<2x1xi64, #swizzled_shared.411773f3b47f>",
        "type differs: memdesc<2xi64> -> memdesc<2x1xi64>",
        "unclear",
    ),
    (
        "ttgir",
        f"    %9 = ttng.warp_group_dot %1, %2, %3 : {MEMDESC}",
        f"    %9 = ttng.warp_group_dot %1, %2, %3, %22 : {MEMDESC}",
        "number of operands of ttng.warp_group_dot 3 -> 4",
        "unclear",
    ),
    # warp specialisation
    (
        "ttgir",
        "    ttg.warp_specialize(%3) attributes {requestedRegisters = array<i32: 232>}",
        "    ttg.warp_specialize(%3) attributes {requestedRegisters = array<i32: 88>}",
        "register request 232 -> 88 (ttg.warp_specialize)",
        "significant",
    ),
    (
        "ttgir",
        "    ttg.warp_specialize(%3)",
        "    ttg.warp_specialize(%3) attributes {requestedRegisters = array<i32: 88>}",
        "register request none -> 88 (ttg.warp_specialize)",
        "significant",
    ),
    (
        "ttgir",
        "    partition0(%4: i32) num_warps(4) {",
        "    partition0(%4: i32) num_warps(1) {",
        "warps of a partition: 4 -> 1",
        "significant",
    ),
    (
        "ptx",
        "\tsetmaxnreg.dec.sync.aligned.u32 \t232;",
        "\tsetmaxnreg.dec.sync.aligned.u32 \t88;",
        "register request 232 -> 88 (setmaxnreg.dec)",
        "significant",
    ),
    (
        "sass",
        "        USETMAXREG.DEALLOC.CTAPOOL 0x50 ; /* 0x00000050000079c8 */",
        "        USETMAXREG.DEALLOC.CTAPOOL 0x28 ; /* 0x00000028000079c8 */",
        "register request 80 -> 40 (USETMAXREG.DEALLOC.CTAPOOL)",
        "significant",
    ),
    ("ptx", "", ".maxnreg 256", "launch bound: .maxnreg none -> 256", "significant"),
    # barriers and fences
    (
        "ptx",
        "\tmbarrier.arrive.shared::cta.b64 _, [%r1];",
        "\tmbarrier.arrive.shared::cluster.b64 _, [%r1];",
        "barrier scope/semantics: mbarrier.arrive shared::cta.b64 -> "
        "mbarrier.arrive shared::cluster.b64",
        "significant",
    ),
    (
        "ptx",
        "\tfence.acq_rel.gpu;",
        "\tfence.acq_rel.sys;",
        "barrier scope/semantics: fence.acq_rel.gpu -> fence.acq_rel.sys",
        "significant",
    ),
    (
        "ptx",
        "\tbar.sync 0, 128;",
        "\tbarrier.sync 0;",
        "barrier scope/semantics: bar.sync 0, 128 -> barrier.sync 0",
        "significant",
    ),
    (
        "ttgir",
        "    ttng.fence_async_shared {bCluster = false}",
        "    ttng.fence_async_shared {bCluster = true}",
        "barrier scope/semantics: ttng.fence_async_shared {bCluster = false} -> "
        "ttng.fence_async_shared {bCluster = true}",
        "significant",
    ),
    (
        "sass",
        "        MEMBAR.ALL.GPU ;",
        "        MEMBAR.ALL.CTA ;",
        "barrier scope/semantics: MEMBAR.ALL.GPU -> MEMBAR.ALL.CTA",
        "significant",
    ),
    # program ids
    (
        "ptx",
        "\tmov.u32 \t%r.1, %ctaid.x;",
        "\tmov.u32 \t%r.1, %clusterid.x;",
        "program id register: %ctaid.x -> %clusterid.x",
        "significant",
    ),
    (
        "llir",
        "  %3 = tail call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()",
        "  %3 = tail call i32 @llvm.nvvm.read.ptx.sreg.clusterid.x()",
        "program id register: llvm.nvvm.read.ptx.sreg.ctaid.x -> "
        "llvm.nvvm.read.ptx.sreg.clusterid.x",
        "significant",
    ),
    # accesses, mma, copies
    (
        "ptx",
        "\tst.shared.v4.b32 [%r.1], {%r.2, %r.3, %r.4, %r.5};",
        "\tst.shared.v2.b32 [%r.1], {%r.2, %r.3};\n\tst.shared.v2.b32 [%r.1+8], {%r.4, %r.5};",
        "vector width b32x4 -> b32x2 (st.shared)",
        "significant",
    ),
    (
        "llir",
        "  store <4 x i32> %3, ptr addrspace(3) %2, align 16",
        '  call void asm sideeffect "st.shared::cta.v2.b32 [ $0 + 0 ], { $1, $2 };", "r,r,r"'
        "(ptr addrspace(3) %2, i32 %4, i32 %5)",
        "vector width b32x4 -> b32x2 (store shared -> st.shared::cta)",
        "significant",
    ),
    (
        "sass",
        "        LDS.128 R4, [R2] ;",
        "        LDS.64 R4, [R2] ;\n        LDS.64 R6, [R2+0x8] ;",
        "vector width 128 bits -> 64 bits (LDS)",
        "significant",
    ),
    (
        "ptx",
        "\twgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {%f.1}, %rd.1, %rd.2, 1, 1, 1;",
        "\twgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%f.1}, %rd.1, %rd.2, 1, 1, 1;",
        "mma shape/instruction: wgmma m64n128k16.f32.f16.f16 -> wgmma m64n64k16.f32.f16.f16",
        "significant",
    ),
    (
        "amdgcn",
        "\tv_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]",
        "\tv_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], a[0:3]",
        "mma shape/instruction: v_mfma_f32_32x32x8_f16 -> v_mfma_f32_16x16x16_f16",
        "significant",
    ),
    (
        "amdgcn",
        "\tbuffer_load_dword v1, s[0:3], 0 offen lds",
        "\tglobal_load_lds_dword v[2:3], off",
        "async copy differs: buffer_load_dword lds -> global_load_lds_dword",
        "significant",
    ),
    # attributes
    (
        "ttgir",
        '    %7 = "tt.reduce"(%6) <{axis = 0 : i32}> ({',
        '    %7 = "tt.reduce"(%6) <{axis = 0 : i32, reduction_ordering = "inner_tree"}> ({',
        'reduction order: none -> "inner_tree"',
        "significant",
    ),
    (
        "ttgir",
        'module attributes {"ttg.num-warps" = 4 : i32, ttg.shared = 1024 : i32} {',
        'module attributes {"ttg.num-warps" = 8 : i32, ttg.shared = 1024 : i32} {',
        'module attribute: "ttg.num-warps" 4 : i32 -> 8 : i32',
        "unclear",
    ),
    (
        "ttgir",
        "    %5 = tt.dot %1, %2, %3, inputPrecision = tf32 {maxNumImpreciseAcc = 0 : i32} : f32",
        "    %5 = tt.dot %1, %2, %3, inputPrecision = tf32 {maxNumImpreciseAcc = 4 : i32} : f32",
        "attribute differs: maxNumImpreciseAcc 0 : i32 -> 4 : i32",
        "unclear",
    ),
    # arithmetic and constants
    (
        "ptx",
        "\tadd.s32 %r.5, %r.4, 2;\n\tand.b32 %r.6, %r.5, 16383;\n\tcvt.u64.u32 %rd.1, %r.6;\n"
        "\tor.b64 %rd.2, %rd.1, 4611686293305294848;",
        "\tadd.s64 %rd.2, %rd.3, 4611686293305294850;",
        "address computation",
        "unclear",
    ),
    (
        "ptx",
        "\tand.b32 \t%r.36, %r.3, 511;",
        "\tand.b32 \t%r.36, %r.3, 127;",
        "constants only: 511 -> 127",
        "unclear",
    ),
    (
        "ptx",
        "\tshl.b32 \t%r.8, %r.1, 6;",
        "\tshl.b32 \t%r.8, %r.101', 11;",
        "address computation; constants differ: 6 -> 11",
        "unclear",
    ),
    (
        "ttgir",
        "    %1 = arith.constant 64 : i32",
        "    %1 = arith.constant 32 : i32",
        "constants only: 64 -> 32",
        "unclear",
    ),
    # names
    (
        "ttgir",
        "    %9 = arith.addf %7, %8 : tensor<64xf32>",
        "    %9 = arith.addf %7, %7 : tensor<64xf32>",
        "operands differ: arith.addf",
        "unclear",
    ),
    (
        "sass",
        "        FADD R2, R3, R4 ; /* 0x0000000403027221 */",
        "        FADD R5, R3, R4 ; /* 0x0000000403057221 */",
        "register allocation",
        "unclear",
    ),
    (
        "sass",
        "        FADD R2, R3, R4 ; /* 0x0000000403027221 */ /* 0x000fc60000000000 */",
        "        FADD R2, R3, R4 ; /* 0x0000000403027221 */ /* 0x000fe20000000000 */",
        "control codes",
        "unclear",
    ),
    # what never reaches the GPU
    (
        "ptx",
        "\t.loc\t1 18 31",
        "\t.loc\t1 18 5\n\t// a comment",
        "debug info or comments",
        "benign",
    ),
    (
        "llir",
        "!7 = !DILocation(line: 18, column: 31, scope: !5)",
        "!7 = !DILocation(line: 18, column: 5, scope: !5)",
        "debug info or comments",
        "benign",
    ),
]


@pytest.mark.parametrize(("stage", "left", "right", "expected", "significance"), PLANTED)
def test_planted_difference(stage, left, right, expected, significance):
    assert kind(stage, left, right) == (expected, significance)


@pytest.mark.parametrize(
    ("stage", "left", "right", "expected", "significance"),
    # Of those in names alone, nothing but that names differ can be told among others.
    [each for each in PLANTED if each[3] not in ("control codes", "register allocation")],
)
def test_a_planted_difference_is_told_among_equal_lines_and_shifted_names(
    stage, left, right, expected, significance
):
    around = {
        "ttgir": ("    %90 = math.exp2 %89 : f32", "    %92' = math.exp2 %91' : f32"),
        "llir": ("  %90 = fadd float %89, %88", "  %92' = fadd float %91', %88"),
        "ptx": ("\tmul.f32 %f.1, %f.2, %f.3;", "\tmul.f32 %f.4', %f.2, %f.3;"),
        "amdgcn": ("\tv_exp_f32_e32 v1, v2", "\tv_exp_f32_e32 v3, v2"),
        "sass": ("        MUFU.EX2 R1, R2 ;", "        MUFU.EX2 R3, R2 ;"),
    }[stage]
    told = kind(stage, f"{around[0]}\n{left}", f"{around[1]}\n{right}")
    expected = expected.replace("constants only", "constants differ")
    expected = expected.replace("operands differ: arith.addf", "operands differ: math.exp2")
    if significance == "benign":
        expected, significance = (
            f"operands differ: {'fadd' if stage == 'llir' else 'mul.f32'}",
            "unclear",
        )
    assert told == (expected, significance)


# Sections of binaries.


@pytest.mark.parametrize(
    ("stage", "region", "row", "expected"),
    [
        ("cubin", ".text.gemm", "00 01 02 03", ("executable code", "significant")),
        ("cubin", ".nv.info.gemm", "attribute 0x2f format 4: 0b", ("launch metadata (.nv.info)",)),
        ("cubin", ".nv.merc.nv.info", "attribute 0x2f", ("launch metadata (.nv.info)",)),
        ("cubin", ".nv.constant0.gemm", "00 01", ("constants",)),
        ("cubin", ".debug_line", "00 01", ("debug info", "benign")),
        ("cubin", ".nv_debug_ptx_txt", "00 01", ("debug info", "benign")),
        ("cubin", ".note.nv.tkinfo", "00 01", ("name of the tool that made it", "benign")),
        ("cubin", "symbol", "symbol FUNC GLOBAL name=gemm", ("symbols",)),
        ("cubin", ".rela.text.gemm", "relocation .rela.text.gemm", ("relocations",)),
        ("hsaco", ".text", "00 01", ("executable code", "significant")),
        ("hsaco", ".note", "/amdhsa.kernels/0/.vgpr_count = 92", ("launch metadata (.note)",)),
        ("hsaco", ".rodata", "00 01", ("launch metadata (kernel descriptor)",)),
        ("hsaco", ".comment", "4c 4c 44", ("name of the tool that made it", "benign")),
        ("cubin", "", "section .nv.constant2.gemm type=1", ("constants",)),
    ],
)
def test_sections(stage, region, row, expected):
    assert kind(stage, row, "", region) == (*expected, "unclear")[:2]


def test_code_of_a_cubin_is_read_as_instructions():
    told = kind("cubin", "        DEPBAR.LE SB0, 0x1 ;", "        DEPBAR.LE SB0, 0x0 ;", "gemm")
    assert told == ("wait depth 1 -> 0 (DEPBAR)", "significant")


def test_launch_metadata_by_key():
    told = kind("metadata", "num_warps = 4\nshared = 0", "num_warps = 8\nshared = 0", "metadata")
    assert told == ("launch metadata: num_warps 4 -> 8", "unclear")


# Hunks of real pairs, found by the comparison itself.


def found(stage, text, name):
    suffix = stage
    left, right = (text(f"{name}.{side}.{suffix}").encode() for side in ("fork", "plugin"))
    return [classify(stage, each) for each in compare.hunks(stage, left, right, 400)[0]]


def test_the_wait_that_differs_in_a_ring_of_copies(text):
    assert [(h.kind, h.significance) for h in found("ttgir", text, "ring_copy")] == [
        ("wait depth 1 -> 0 (ttg.async_wait)", "significant")
    ]
    for stage, wait in (
        ("llir", "llvm.nvvm.cp.async.wait.group"),
        ("ptx", "cp.async.wait_group"),
        ("sass", "DEPBAR"),
    ):
        kinds = [h.kind for h in found(stage, text, "ring_copy") if h.significance == "significant"]
        assert kinds == [f"wait depth 1 -> 0 ({wait})"]


def test_amd_copies_become_other_instructions_and_a_wait_gets_shallower(text):
    kinds = summarise(found("ttgir", text, "buffer_to_local"))
    assert "wait depth 1 -> 0 (ttg.async_wait)" in kinds
    assert any(each.startswith("op only on fork side: amdg.buffer_load_to_local") for each in kinds)
    assert any(
        each.startswith("op only on plugin side: ttg.async_copy_global_to_local") for each in kinds
    )


def test_register_requests_of_a_relay(text):
    kinds = [h.kind for h in found("ptx", text, "relay")]
    assert any("setmaxnreg" in each for each in kinds)
    assert any("bar.sync" in each for each in kinds)
    told = {h.kind for h in found("ttgir", text, "relay")}
    assert "type differs: memdesc<2xi64> -> memdesc<2x1xi64>" in told


def test_guarded_tasks_get_fewer_warps_and_a_register_request(text):
    kinds = summarise(found("ttgir", text, "guarded_tasks"))
    assert "warps of a partition: 4 -> 1" in kinds
    assert "register request none -> 88 (ttg.warp_specialize)" in kinds


@pytest.mark.parametrize(
    ("stage", "name"),
    [
        ("ttgir", "relay"),
        ("ttgir", "dot_wait_depths"),
        ("ttgir", "buffer_to_local"),
        ("llir", "ring_copy"),
        ("ptx", "relay"),
        ("amdgcn", "buffer_to_local"),
        ("sass", "relay"),
        ("sass", "guarded_tasks"),
    ],
)
def test_every_real_hunk_has_a_kind(text, stage, name):
    hunks = found(stage, text, name)
    assert hunks
    for each in hunks:
        assert each.kind
        assert each.significance in ("significant", "unclear", "benign")
        assert "labels or punctuation" not in each.kind


# Hunks that were cut, summaries, sides.


def test_what_may_lie_in_a_part_that_was_cut_is_not_claimed():
    left = "\tbar.sync 0;\n... (cut: 100 more lines)"
    told = kind("ptx", left, "\tfence.acq_rel.gpu;")
    assert told == (
        "op only on fork side: bar.sync; large region, not shown whole",
        "significant",
    )
    assert kind("ptx", left, "\tbar.sync 0;\n... (cut: 3 more lines)") == (
        "large region, not shown whole",
        "unclear",
    )


def test_sides_are_named_as_asked():
    told = classify("ptx", hunk("", "\tbar.sync 0;"), ("upstream", "plugin-post15"))
    assert told.kind == "op only on plugin-post15 side: bar.sync"


def test_everything_but_kind_and_significance_is_kept():
    given_hunk = Hunk("f / $L_1", 7, 9, ("\tbar.sync 0;",), (), ("\tret;",))
    told = classify("ptx", given_hunk)
    assert (told.region, told.left_line, told.right_line) == ("f / $L_1", 7, 9)
    assert (told.left, told.right, told.context) == (("\tbar.sync 0;",), (), ("\tret;",))


def test_summary_puts_the_significant_first_and_counts():
    hunks = [
        classify("ptx", hunk("\tand.b32 %r.1, %r.2, 1;", "\tand.b32 %r.1, %r.2, 3;")),
        classify("ptx", hunk("\t.loc 1 1 1", "")),
        classify("ptx", hunk("\tand.b32 %r.4, %r.5, 1;", "\tand.b32 %r.4, %r.5, 3;")),
        classify("ptx", hunk("\tcp.async.wait_group 1;", "\tcp.async.wait_group 0;")),
    ]
    assert summarise(hunks) == (
        "wait depth 1 -> 0 (cp.async.wait_group)",
        "constants only: 1 -> 3 (2)",
        "debug info or comments",
    )
    assert summarise([]) == ()


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_shuffled_lines_are_order_only(text, data):
    stage, name = data.draw(
        st.sampled_from(
            [
                ("ttgir", "relay.fork.ttgir"),
                ("ptx", "relay.plugin.ptx"),
                ("amdgcn", "buffer_to_local.fork.amdgcn"),
                ("sass", "ring_copy.fork.sass"),
            ]
        )
    )
    lines = [line for line in text(name).splitlines() if line.strip()]
    start = data.draw(st.integers(0, len(lines) - 2))
    block = lines[start : start + data.draw(st.integers(2, 30))]
    other = block.copy()
    random.Random(data.draw(st.integers())).shuffle(other)
    told = classify(stage, Hunk("kernel", 1, 1, tuple(block), tuple(other)))
    told_forms = ("order only", "debug info or comments", "register allocation", "control codes")
    assert told.kind in told_forms or told.kind.startswith("operands differ")
    assert told.significance != "significant"


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_swapping_the_sides_swaps_what_is_said(text, data):
    lines = text("relay.fork.ptx").splitlines()
    start = data.draw(st.integers(0, len(lines) - 40))
    left = tuple(lines[start : start + data.draw(st.integers(0, 12))])
    right = tuple(lines[start + 5 : start + 5 + data.draw(st.integers(1, 12))])
    one = classify("ptx", Hunk("k", 1, 1, left, right), ("a", "b"))
    two = classify("ptx", Hunk("k", 1, 1, right, left), ("b", "a"))
    assert one.significance == two.significance
    alone = [
        sorted(each for each in told.kind.split("; ") if each.startswith("op only"))
        for told in (one, two)
    ]
    if "more kinds" not in one.kind + two.kind:
        assert alone[0] == alone[1]
