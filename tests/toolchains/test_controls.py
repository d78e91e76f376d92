from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import msgspec
import pytest

from harness.compare import normalise
from harness.errors import HarnessError
from harness.toolchains import Controls, Toolchain, controls, tools

COMPILE = """
import json, sys
import triton, triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

@triton.jit
def double(x, n: tl.constexpr):
    at = x + tl.arange(0, n)
    tl.store(at, tl.load(at) * 2)

if __name__ == "__main__":
    source = ASTSource(double, {"x": "*i32", "n": "constexpr"}, {"n": 128})
    target = GPUTarget("cuda", 100, 32)
    compiled = triton.compile(source, target=target, options=json.loads(sys.argv[1]))
    sys.stdout.write(compiled.asm["ptx"])
    open(sys.argv[2], "wb").write(compiled.asm["cubin"])
"""


def compiled(toolchain: Toolchain, given: Controls, folder: Path) -> tuple[str, bytes]:
    """PTX and cubin of a small kernel for sm_100."""
    script, cubin = folder / "double.py", folder / "double.cubin"
    script.write_text(COMPILE)
    ptx = subprocess.run(
        [toolchain.interpreter, script, json.dumps(given.options), cubin],
        env={**toolchain.env, **given.env, "TRITON_CACHE_DIR": str(folder / toolchain.role)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return ptx, cubin.read_bytes()


def test_controls_give_both_sides_one_assembler(
    fork: Toolchain, plugin: Toolchain, tmp_path: Path
) -> None:
    sides = {"fork": fork, "plugin": plugin}

    def versions(lane: str) -> set[str]:
        given = controls(lane, sides)
        ptx = [compiled(side, given, tmp_path)[0] for side in sides.values()]
        return {re.findall(r"^\.version (\S+)", text, re.MULTILINE)[0] for text in ptx}

    assert len(versions("shipped")) == 2
    assert len(versions("controlled")) == 1


def test_assembler_is_upstreams_where_it_takes_part(
    fork: Toolchain, plugin: Toolchain, upstream: Toolchain
) -> None:
    three = controls("controlled", {"fork": fork, "plugin": plugin, "upstream": upstream})
    two = controls("controlled", {"fork": fork, "plugin": plugin})
    one = controls("controlled", {"fork": fork})
    found = [c.env["TRITON_PTXAS_BLACKWELL_PATH"] for c in (three, two, one)]
    assert found == [str(tools(t).ptxas_blackwell) for t in (upstream, plugin, fork)]


def test_controls_are_described_without_paths(fork: Toolchain, plugin: Toolchain) -> None:
    given = controls("controlled", {"fork": fork, "plugin": plugin})
    assert given.options == {"sanitize_overflow": False}
    assert given.env["PYTHONHASHSEED"] == "0"
    assert set(given.described) == {
        *given.env,
        "option sanitize_overflow",
        "address randomisation",
    }
    words = given.described["TRITON_PTXAS_BLACKWELL_PATH"]
    assert re.fullmatch(
        r"ptxas-blackwell of plugin, release 13\.3, \S+, sha256 [0-9a-f]{64}", words
    )
    assert controls("shipped", {"fork": fork}) == Controls()


def test_unknown_lane_names_the_known_ones(fork: Toolchain) -> None:
    with pytest.raises(HarnessError, match="shipped, controlled"):
        controls("fast", {"fork": fork})


def test_disassembles_cubins_together_as_it_does_alone(plugin: Toolchain, tmp_path: Path) -> None:
    found = tools(plugin)
    controls = Controls(options={"num_warps": 1}), Controls(options={"num_warps": 4})
    cubins = [compiled(plugin, each, tmp_path)[1] for each in controls]
    for cubin, listing in zip(cubins, found.disassemble(cubins), strict=True):
        assert "EXIT" in listing
        file = tmp_path / "alone.cubin"
        file.write_bytes(cubin)
        plain = subprocess.run(
            [found.nvdisasm, "-c", "-hex", file], capture_output=True, text=True, check=True
        ).stdout
        assert instructions(listing) == instructions(plain)


def instructions(listing: str) -> list[str]:
    """Instructions, labels and encodings by the rules for SASS."""
    return [line for line in normalise("sass", listing.encode()).lines if "/* 0x" in line]


def test_a_damaged_cubin_is_refused(plugin: Toolchain) -> None:
    with pytest.raises(HarnessError, match="cannot be read"):
        tools(plugin).disassemble([b"no cubin"])


def test_tool_that_is_not_shipped_is_named(plugin: Toolchain, tmp_path: Path) -> None:
    bare = msgspec.structs.replace(plugin, package=tmp_path)
    with pytest.raises(HarnessError, match="ships no ptxas"):
        tools(bare)
