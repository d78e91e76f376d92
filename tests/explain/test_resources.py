import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import toolchains
from harness.errors import HarnessError
from harness.explain.instructions import mix, spills
from harness.explain.occupancy import LIMITS, occupancy
from harness.explain.resources import resources
from harness.model import Target

USAGE = Path(__file__).parent / "data" / "resource-usage.txt"
LAUNCH = {
    "ring_copy": ("cuda:90", {"name": "ring_copy", "num_warps": 4, "shared": 1024}),
    "relay": ("cuda:90", {"name": "relay", "num_warps": 16, "shared": 3324}),
    "dot_wait_depths": ("cuda:90", {"name": "dot_wait_depths", "num_warps": 4, "shared": 98304}),
    "guarded_tasks": ("cuda:100", {"name": "guarded_tasks", "num_warps": 8, "shared": 28}),
    "vector_add": ("cuda:80", {"name": "vector_add", "num_warps": 4, "shared": 0}),
    "buffer_to_local": ("hip:gfx942", {"name": "buffer_to_local", "num_warps": 4, "shared": 2048}),
    "pipelined_gemm": ("hip:gfx950", {"name": "pipelined_gemm", "num_warps": 4, "shared": 98304}),
}


@pytest.fixture(scope="module")
def of(artifact):
    """The resources of ``kernel.side``."""

    def read(name, **changes):
        target, metadata = LAUNCH[name.partition(".")[0]]
        binary, listing = ("cubin", "sass") if target[:4] == "cuda" else ("hsaco", "amdgcn")
        return resources(
            Target.parse(target),
            artifact(f"{name}.{binary}"),
            artifact(f"{name}.{listing}").decode(),
            metadata | changes,
        )

    return read


# The binary itself, against the vendor's tool.


@pytest.mark.parametrize("line", USAGE.read_text().splitlines())
def test_registers_stack_and_static_shared_memory_are_what_cuobjdump_says(of, line):
    name, _, usage = line.partition(": ")
    said = {key: int(value) for key, value in re.findall(r"(REG|STACK|SHARED):(\d+)", usage)}
    found = of(name, shared=0)
    # cuobjdump counts the 1,024 bytes that are reserved from 9.0 on, a launch does not.
    static = said["SHARED"] - (1024 if said["SHARED"] else 0)
    assert (found.registers, found.stack, found.shared) == (said["REG"], said["STACK"], static)


def test_cuobjdump_of_the_toolchain_agrees(plugin, artifact, tmp_path):
    tools = toolchains.tools(plugin)
    cubin = tmp_path / "relay.cubin"
    cubin.write_bytes(artifact("relay.plugin.cubin"))
    said = subprocess.run(
        [tools.cuobjdump, "--dump-resource-usage", cubin],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found = resources(
        Target("cuda", "90"),
        cubin.read_bytes(),
        tools.disassemble([cubin.read_bytes()])[0],
        LAUNCH["relay"][1],
    )
    assert f"REG:{found.registers} STACK:{found.stack} " in said
    assert found.mix == mix("sass", artifact("relay.plugin.sass").decode())


def test_a_hopper_kernel_that_spills(of):
    found = of("dot_wait_depths.fork")
    # `ptxas -v` of its PTX: 88 bytes stack frame, 88 bytes spill stores, 88 bytes spill loads.
    assert (found.registers, found.stack) == (255, 88)
    assert (found.spill_stores, found.spill_loads) == (88, 88)
    assert (found.threads, found.shared) == (128, 98304)
    # Measured: cuOccupancyMaxActiveBlocksPerMultiprocessor on an H200 says 2 blocks of 4 warps.
    assert (found.occupancy, found.limiter) == (2 * 4 / 64, "registers")


def test_the_instruction_mix_counts_every_instruction_once(of, artifact):
    found = of("dot_wait_depths.fork")
    assert found.mix["mma"] == 16
    assert found.mix["local store"] == found.mix["local load"] == 22
    assert found.mix["async copy"] == 48
    assert found.mix["shared store"] == 32
    listing = artifact("dot_wait_depths.fork.sass").decode()
    lines = re.findall(r"^\s+/\*[0-9a-f]{4}\*/ .*;", listing, re.MULTILINE)
    assert len(lines) == 1472 == sum(found.mix.values())
    assert found.instructions == 1472 - found.mix["padding"]
    assert "other" not in found.mix


def test_both_sides_of_a_warp_specialised_kernel(of):
    fork, plugin = of("relay.fork"), of("relay.plugin")
    assert fork.registers == plugin.registers == 128
    assert fork.threads == plugin.threads == 512
    assert (fork.occupancy, fork.limiter) == (0.25, "registers")
    assert fork.instructions == 352 - fork.mix["padding"]
    assert fork.mix["barrier"] > plugin.mix["barrier"]


def test_registers_differ_between_the_sides_on_blackwell(of):
    fork, plugin = of("guarded_tasks.fork"), of("guarded_tasks.plugin")
    assert (fork.registers, plugin.registers) == (22, 255)
    assert (fork.occupancy, fork.limiter) == (1.0, "warps")
    assert (plugin.occupancy, plugin.limiter) == (0.125, "registers")


def test_amd_metadata(of):
    found = of("buffer_to_local.fork")
    assert (found.registers, found.stack, found.threads) == (5, 0, 256)
    assert (found.spill_stores, found.spill_loads) == (0, 0)
    assert found.shared == 2048
    assert found.mix["async copy"] == 6
    assert found.mix["shared load"] == 5
    assert found.mix["barrier"] == 10
    assert "other" not in found.mix


def test_amd_occupancy_is_what_the_compiler_says(of, text):
    found = of("pipelined_gemm.fork", shared=0)
    listing = text("pipelined_gemm.fork.amdgcn")
    said = {
        key: int(value) for key, value in re.findall(r"; (TotalNumVgprs|Occupancy): (\d+)", listing)
    }
    assert found.registers == said["TotalNumVgprs"]
    assert found.occupancy == said["Occupancy"] / 8
    assert of("pipelined_gemm.fork").limiter == "shared memory"


def test_without_a_disassembly_instructions_are_unknown(artifact):
    found = resources(Target("cuda", "90"), artifact("relay.fork.cubin"), None, LAUNCH["relay"][1])
    assert found.registers == 128
    assert found.instructions is None
    assert found.spill_stores is None
    assert found.mix == {}


@pytest.mark.parametrize(
    ("target", "name", "metadata"),
    [
        ("cuda:90", "relay.fork.cubin", {"name": "other", "num_warps": 4, "shared": 0}),
        ("cuda:90", "relay.fork.cubin", {"name": "relay", "num_warps": 4}),
        ("cuda:90", "buffer_to_local.fork.hsaco", LAUNCH["relay"][1]),
        ("hip:gfx942", "relay.fork.cubin", LAUNCH["buffer_to_local"][1]),
        ("hip:gfx942", "relay.fork.ptx", LAUNCH["buffer_to_local"][1]),
    ],
)
def test_a_binary_that_is_something_else_is_an_error(artifact, target, name, metadata):
    with pytest.raises(HarnessError, match=re.escape(metadata["name"])):
        resources(Target.parse(target), artifact(name), None, metadata)


@given(st.integers(0, 21000))
def test_a_truncated_binary_is_an_error(artifact, size):
    with pytest.raises(HarnessError):
        resources(
            Target("cuda", "90"), artifact("relay.fork.cubin")[:size], None, LAUNCH["relay"][1]
        )


def test_spills_are_counted_by_width():
    listing = """
        /*0010*/ STL.64 [R1+0x8], R2 ;
        /*0020*/ @P0 STL [R1], R2 ;
        /*0030*/ STL.U8 [R1], R2 ;
        /*0040*/ LDL.LU.128 R4, [R1] ;
        /*0050*/ LDS R4, [R1] ;
    """
    assert spills("sass", listing) == (8 + 4 + 1, 16)
    listing = "\tscratch_store_dwordx4 off, v[0:3], off\n\tscratch_load_dword v0, off, off offset:4"
    assert spills("amdgcn", listing) == (16, 4)


# Occupancy. The expected numbers of blocks are those of NVIDIA's `cuda_occupancy.h`.


@pytest.mark.parametrize(
    ("target", "registers", "shared", "threads", "barriers", "blocks", "limiter"),
    [
        ("cuda:80", 32, 0, 256, 1, 8, "warps"),
        ("cuda:80", 255, 0, 256, 1, 1, "registers"),
        ("cuda:80", 77, 0, 128, 16, 6, "registers"),
        ("cuda:80", 32, 83 * 1024, 128, 1, 1, "shared memory"),
        ("cuda:90", 16, 0, 32, 1, 32, "blocks"),
        ("cuda:90", 15, 532, 256, 12, 5, "barriers"),
        ("cuda:90", 168, 0, 384, 1, 1, "registers"),
        ("cuda:90", 64, 227 * 1024, 128, 1, 1, "shared memory"),
        ("cuda:90", 64, 227 * 1024 + 1, 128, 1, 0, "shared memory"),
        ("cuda:90", 40, 75 * 1024, 128, 1, 3, "shared memory"),
        ("cuda:100", 128, 0, 544, 1, 0, "registers"),
        ("hip:gfx942", 128, 0, 256, 0, 4, "registers"),
        ("hip:gfx942", 129, 0, 256, 0, 3, "registers"),
        ("hip:gfx942", 32, 32 * 1024 + 1, 256, 0, 1, "shared memory"),
        ("hip:gfx950", 32, 80 * 1024, 256, 0, 2, "shared memory"),
        ("hip:gfx950", 512, 0, 512, 0, 0, "registers"),
    ],
)
def test_blocks_per_multiprocessor(target, registers, shared, threads, barriers, blocks, limiter):
    parsed = Target.parse(target)
    warps = -(-threads // parsed.warp_size)
    share = blocks * warps / LIMITS[target].warps
    assert occupancy(parsed, registers, shared, threads, barriers) == (share, limiter)


def test_unknown_architectures_have_no_occupancy():
    assert occupancy(Target("cuda", "120"), 32, 0, 128) == (None, "")
    assert occupancy(Target("hip", "gfx1250"), 32, 0, 128) == (None, "")


@given(
    st.sampled_from(sorted(LIMITS)),
    st.integers(1, 255),
    st.integers(0, 160 * 1024),
    st.integers(1, 1024),
    st.integers(0, 16),
)
def test_more_resources_never_raise_the_occupancy(target, registers, shared, threads, barriers):
    parsed = Target.parse(target)
    share, limiter = occupancy(parsed, registers, shared, threads, barriers)
    assert 0 <= share <= 1
    assert limiter
    for more in ((1, 0, 0), (0, 128, 0), (0, 0, 1)):
        worse = occupancy(
            parsed, registers + more[0], shared + more[1], threads, barriers + more[2]
        )
        # No number of barriers is no use of barriers at all.
        assert worse[0] <= share


@pytest.mark.skipif(shutil.which("nvidia-smi") is None, reason="no NVIDIA driver")
@pytest.mark.gpu
def test_the_driver_agrees(of, artifact):
    cuda = pytest.importorskip("cuda.bindings.driver")

    def check(result):
        assert not int(result[0]), result[0]
        return result[1] if len(result) == 2 else result[1:]

    check(cuda.cuInit(0))
    context = check(cuda.cuDevicePrimaryCtxRetain(check(cuda.cuDeviceGet(0))))
    cuda.cuCtxSetCurrent(context)
    for name in ("ring_copy.fork", "relay.plugin", "dot_wait_depths.fork"):
        found, metadata = of(name), LAUNCH[name.partition(".")[0]][1]
        module = check(cuda.cuModuleLoadData(artifact(f"{name}.cubin")))
        kernel = check(cuda.cuModuleGetFunction(module, metadata["name"].encode()))
        attribute = cuda.CUfunction_attribute
        dynamic = attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        carveout = attribute.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT
        cuda.cuFuncSetAttribute(kernel, dynamic, metadata["shared"])
        cuda.cuFuncSetAttribute(kernel, carveout, 100)
        blocks = check(
            cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                kernel, found.threads, metadata["shared"]
            )
        )
        registers = check(cuda.cuFuncGetAttribute(attribute.CU_FUNC_ATTRIBUTE_NUM_REGS, kernel))
        assert registers == found.registers
        assert blocks * found.threads / 32 / 64 == found.occupancy
