import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.explain.counts import compare_counts, count, one_sided

TABLES = (
    "async copies",
    "barriers",
    "fences",
    "global memory",
    "mma",
    "program id",
    "shared memory",
    "waits",
    "warp specialise",
)


def tables(counts):
    """All that is counted but operations, as ``{table: {name: n}}``."""
    found = {}
    for (table, name), n in counts.items():
        if table != "ops":
            found.setdefault(table, {})[name] = n
    return found


def ops(counts):
    return {name: n for (table, name), n in counts.items() if table == "ops"}


# Numbers counted by hand in the artifacts.


def test_ttgir_of_a_ring_of_copies(text):
    counts = count("ttgir", text("ring_copy.fork.ttgir"))
    assert tables(counts) == {
        "async copies": {"ttg.async_copy_global_to_local 512 bytes": 2},
        "program id": {"tt.get_program_id x": 1},
        "shared memory": {"ttg.local_load": 1},
        "waits": {"ttg.async_wait 1": 1},
    }
    assert ops(counts)["tt.splat"] == 5
    assert ops(counts)["arith.constant"] == 6
    assert ops(counts)["ttg.memdesc_index"] == 3
    assert sum(ops(counts).values()) == 46


def test_ptx_of_a_ring_of_copies(text):
    counts = count("ptx", text("ring_copy.fork.ptx"))
    assert tables(counts) == {
        "async copies": {"cp.async 4 bytes": 2, "cp.async.commit_group": 2},
        "barriers": {"bar.sync 0": 2},
        "global memory": {"st.global b32": 1},
        "program id": {"%ctaid.x": 1},
        "shared memory": {"ldmatrix x1": 1},
        "waits": {"cp.async.wait_group 1": 1},
    }


def test_inline_assembly_of_llvm_ir_is_counted_as_what_it_executes(text):
    counts = count("llir", text("ring_copy.fork.llir"))
    assert tables(counts)["async copies"] == {
        "cp.async 4 bytes": 2,
        "llvm.nvvm.cp.async.commit.group": 2,
    }
    assert tables(counts)["global memory"] == {"st.global b32": 1}
    assert tables(counts)["waits"] == {"llvm.nvvm.cp.async.wait.group 1": 1}
    assert tables(counts)["shared memory"] == {
        "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x1.b16.p3 x1": 1
    }


def test_sass_of_a_ring_of_copies(text):
    counts = count("sass", text("ring_copy.fork.sass"))
    found = tables(counts)
    assert found["async copies"] == {"LDGSTS 4 bytes": 2}
    assert found["waits"] == {"DEPBAR 1": 1}
    assert found["barriers"]["BAR.SYNC.DEFER_BLOCKING 0x0"] == 2
    assert found["shared memory"] == {"LDSM M88": 1}  # and six LDS that are never executed
    assert sum(ops(counts).values()) == 88


def test_warp_specialisation_of_a_relay(text):
    at_ttgir = tables(count("ttgir", text("relay.fork.ttgir")))["warp specialise"]
    assert at_ttgir == {"partition of 4 warps": 3, "ttg.warp_specialize registers 88, 88, 40": 1}
    for side, dropped, raised in (("fork", 3, 1), ("plugin", 2, 3)):
        at_ptx = tables(count("ptx", text(f"relay.{side}.ptx")))
        assert at_ptx["warp specialise"] == {
            "setmaxnreg.dec registers 40": 1,
            "setmaxnreg.dec registers 80": dropped,
            "setmaxnreg.inc registers 256": raised,
            "setmaxnreg.inc registers 80": 1,
            "setmaxnreg.inc registers 88": 2,
        }


def test_barriers_of_a_relay(text):
    fork, plugin = (tables(count("ptx", text(f"relay.{s}.ptx"))) for s in ("fork", "plugin"))
    assert fork["barriers"] == {
        "bar.sync 0, 128": 3,
        "bar.sync 2, 128": 6,
        "bar.sync 3, 128": 6,
        "bar.sync 4, 128": 3,
        "barrier.sync 1": 13,
        "mbarrier.arrive shared::cta.b64": 6,
        "mbarrier.init shared::cta.b64 1": 12,
        "mbarrier.try_wait parity.shared::cta.b64": 6,
    }
    assert plugin["barriers"] == fork["barriers"] | {
        "bar.sync 0, 128": 1,
        "bar.sync 2, 128": 2,
        "bar.sync 3, 128": 2,
        "bar.sync 4, 128": 1,
        "barrier.sync 1": 12,
    }


def test_mma_and_wait_depths_of_a_gemm(text):
    found = tables(count("ttgir", text("dot_wait_depths.fork.ttgir")))
    assert found["mma"] == {"ttng.warp_group_dot 128x64xf16 * 64x64xf16": 2}
    assert found["waits"] == {
        "ttg.async_wait 0": 1,
        "ttg.async_wait 1": 1,
        "ttng.warp_group_dot_wait 0": 2,
        "ttng.warp_group_dot_wait 1": 2,
    }
    sass = tables(count("sass", text("dot_wait_depths.fork.sass")))
    assert sass["mma"] == {"HGMMA.64x64x16.F32": 16}
    assert sum(sass["async copies"].values()) == 48


def test_amd_waits_and_copies_to_lds(text):
    fork, plugin = (
        tables(count("amdgcn", text(f"buffer_to_local.{s}.amdgcn"))) for s in ("fork", "plugin")
    )
    assert fork["async copies"] == {"buffer_load_dword lds": 6}
    assert plugin["async copies"] == {"global_load_lds_dword": 5}
    assert fork["barriers"] == plugin["barriers"] == {"s_barrier": 10}
    assert fork["waits"] == {
        "s_waitcnt lgkmcnt(0)": 11,
        "s_waitcnt vmcnt(1) lgkmcnt(0)": 1,
        "s_waitcnt vmcnt(2) lgkmcnt(0)": 4,
    }
    assert fork["shared memory"] == plugin["shared memory"] == {"ds_read_b32": 5}


# What is not a statement.


@pytest.mark.parametrize(
    ("stage", "line"),
    [
        ("ttgir", '    tt.print " ttg.async_wait {num = 1 : i32} " : i32'),
        ("ttgir", "#blocked = #ttg.blocked<{sizePerThread = [1]}>"),
        ("ttgir", '    %1 = tt.load %0 {ttg.async_wait = "ttg.async_wait"} : !tt.ptr<f32>'),
        ("ptx", "	mov.b32 %r1, %r2; // cp.async.wait_group 1;"),
        ("ptx", "$L_wgmma.wait_group:"),
        ("ptx", "	.b8 99 // cp.async.wait_group 0;"),
        ("llir", "  %1 = load i32, ptr %0, !dbg !7 ; call void @llvm.nvvm.barrier0()"),
        ("llir", "declare void @llvm.nvvm.cp.async.wait.group(i32)"),
        ("amdgcn", "	v_mov_b32_e32 v0, 0 ; s_waitcnt vmcnt(0)"),
        ("amdgcn", "s_waitcnt:"),
        ("sass", "BAR.SYNC:"),
        ("sass", "        /*0010*/   MOV R1, R2 ; /* BAR.SYNC 0x0 ; */"),
    ],
)
def test_names_in_strings_comments_labels_and_types_are_not_counted(stage, line):
    assert not tables(count(stage, line))


def test_every_instruction_of_a_line_is_counted():
    line = (
        "  { .reg .pred p; setp.ne.b32 p, %r1, 0; @p cp.async.wait_group 3; @!p bar.sync 1, 64; }"
    )
    counts = count("ptx", line)
    assert tables(counts) == {
        "barriers": {"bar.sync 1, 64": 1},
        "waits": {"cp.async.wait_group 3": 1},
    }
    assert sum(ops(counts).values()) == 3


def test_stages_that_are_no_text_have_no_counts():
    assert count("cubin", "\x7fELF") == {}


# Comparison.


def test_the_dropped_wait_and_the_replaced_copy_are_told(text):
    sides = (text(f"buffer_to_local.{side}.ttgir") for side in ("fork", "plugin"))
    counts = compare_counts("ttgir", *sides)
    waits = {(c.name, c.left, c.right) for c in counts if c.table == "waits"}
    assert waits == {("ttg.async_wait 0", 0, 1), ("ttg.async_wait 1", 1, 0)}
    alone = {(c.name, c.left, c.right) for c in one_sided(counts)}
    assert {
        ("amdg.buffer_load_to_local", 2, 0),
        ("amdg.buffer_store", 1, 0),
        ("ttg.async_copy_global_to_local", 0, 2),
        ("tt.store", 0, 1),
    } <= alone
    assert all(c.table == "ops" for c in one_sided(counts))


def test_a_side_compared_with_itself_has_equal_counts(text):
    same = text("relay.plugin.ptx")
    counts = compare_counts("ptx", same, same)
    assert counts
    assert all(c.left == c.right and c.table in (*TABLES, "ops") for c in counts)
    assert one_sided(counts) == ()


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_counts_add_up_over_the_parts_of_a_text(text, data):
    stage, name = data.draw(
        st.sampled_from(
            [
                ("ttgir", "relay.fork.ttgir"),
                ("llir", "ring_copy.plugin.llir"),
                ("ptx", "relay.plugin.ptx"),
                ("amdgcn", "buffer_to_local.plugin.amdgcn"),
                ("sass", "guarded_tasks.plugin.sass"),
            ]
        )
    )
    lines = text(name).splitlines()
    cut = data.draw(st.integers(0, len(lines)))
    parts = [count(stage, "\n".join(part)) for part in (lines[:cut], lines[cut:])]
    whole = count(stage, "\n".join(lines))
    assert whole == {key: parts[0].get(key, 0) + parts[1].get(key, 0) for key in whole}
    assert set(parts[0]) | set(parts[1]) == set(whole)
