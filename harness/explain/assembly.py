"""Roles of statements in assembly: PTX, GCN and SASS."""

from __future__ import annotations

import re

from harness.explain.role import (
    BARRIERS,
    COPIES,
    FENCES,
    GLOBAL,
    MMA,
    PROGRAM,
    SHARED,
    WAITS,
    WARPS,
    Role,
    numbers,
)

# --- PTX ----------------------------------------------------------------------------------

_PTX_ACCESS = re.compile(
    r"(ld|st)\.((?:[\w:]+\.)*?)(shared|global)(::\w+)?\.((?:[\w:]+\.)*?)(?:v(\d)\.)?([a-z]\d+)"
)
_PTX_MATRIX = re.compile(r"(ldmatrix|stmatrix)\.sync\.aligned\.\w+\.(x\d(?:\.trans)?)")
_PTX_MMA = re.compile(r"(wgmma|tcgen05|mma)\.(?:mma_async\.|mma\.)?(?:sync\.aligned\.)?(.*)")
_PTX_IS_MMA = re.compile(r"wgmma\.mma_async|mma\.|tcgen05\.mma")
_PTX_BARRIER = re.compile(
    r"(mbarrier\.\w+|barrier\.cluster\.\w+|(?:bar|barrier)(?:\.cta)?\.(?:warp\.)?\w+)\.?(.*)"
)
_PTX_COPY = re.compile(
    r"(cp\.(?:reduce\.)?async(?:\.bulk)?(?:\.prefetch)?(?:\.tensor\.\dd)?(?:\.\w+_group)?"
    r"|st\.async|clusterlaunchcontrol)\b\.?(.*)"
)
_PTX_REGISTER = re.compile(r"%(?:ctaid|clusterid)\.([xyz])")
_CONSTANT = re.compile(r"(?<![\w%$+])(?:0x[0-9A-Fa-f]+|\d+)\b")


def ptx(op: str, rest: str) -> Role | None:
    """The role of a statement of PTX, or None."""
    if match := _PTX_ACCESS.match(op):
        width = match[7] + (f"x{match[6]}" if match[6] else "")
        name = f"{match[1]}.{match[3]}{match[4] or ''}"
        qualifiers = (match[2] + match[5]).strip(".")
        table = SHARED if match[3] == "shared" else GLOBAL
        return Role(table, f"{match[1]}.{match[3]}", name, f"{qualifiers} {width}".strip())
    if match := _PTX_MATRIX.match(op):
        return Role(SHARED, match[1], match[1], match[2])
    if op.startswith("setmaxnreg"):
        name = ".".join(op.split(".")[:2])
        return Role(WARPS, name, name, f"registers {rest}")
    if "fence" in op or op.startswith("membar"):
        group = (
            "fence" if op.startswith("membar") else op.partition(".acq_rel")[0].partition(".sc")[0]
        )
        return Role(FENCES, group.partition("::")[0], op, "")
    if "wait_group" in op or "wait_all" in op:
        depth = _CONSTANT.search(rest)
        name = op.removesuffix(".sync.aligned")
        return Role(WAITS, name.replace("wait_all", "wait_group"), name, depth[0] if depth else "0")
    if op.startswith(("tcgen05.wait", "griddepcontrol.wait")):
        return Role(WAITS, op, op, "")
    if _PTX_IS_MMA.match(op) and (match := _PTX_MMA.match(op)):
        return Role(MMA, MMA, match[1], match[2])
    if match := _PTX_BARRIER.match(op):
        group = re.sub(r"^barrier(?:\.cta)?\.(?!cluster)", "bar.", match[1])
        operands = "" if match[1].startswith("mbarrier") else numbers(rest)
        if match[1].endswith(("init", "expect_tx")) or "expect_tx" in match[2]:
            operands = "".join(_CONSTANT.findall(rest)[-1:])
        return Role(BARRIERS, group, match[1], f"{match[2]} {operands}".strip())
    if match := _PTX_COPY.match(op):
        return Role(COPIES, match[1], match[1], _ptx_copy(match[1], match[2], rest))
    if match := _PTX_REGISTER.search(rest):
        return Role(PROGRAM, f"{PROGRAM} {match[1]}", match[0], "")
    return None


def _ptx_copy(name: str, qualifiers: str, rest: str) -> str:
    sizes = _CONSTANT.findall(re.sub(r"\[[^\]]*\]", "", rest))
    if name == "cp.async" and sizes:
        return f"{int(sizes[0], 0)} bytes"
    if name == "cp.async.bulk" and sizes:
        return f"{qualifiers} {int(sizes[0], 0)} bytes"
    return qualifiers


# --- GCN ----------------------------------------------------------------------------------

_GCN_SHARED = re.compile(r"ds_(read|write|load|store)(?!_addtid)(\w*)")
_GCN_GLOBAL = re.compile(r"(?:global|buffer|flat)_(load|store)_(\w+)")
_GCN_COPY = re.compile(r"(?:dwordx?|ushort|ubyte|b)(\d*)")
_GCN_FENCES = ("buffer_wbl2", "buffer_inv", "buffer_gl0_inv", "buffer_gl1_inv", "s_dcache_inv")


def gcn(op: str, rest: str) -> Role | None:
    """The role of a statement of GCN, or None."""
    if op.startswith("s_wait"):
        return Role(WAITS, op, op, rest)
    if op.startswith("s_barrier"):
        return Role(BARRIERS, op, op, rest)
    if op in _GCN_FENCES:
        return Role(FENCES, op, op, rest)
    if "mfma" in op or "wmma" in op:
        return Role(MMA, MMA, op, "")
    if match := _GCN_SHARED.match(op):
        return Role(SHARED, f"ds {match[1]}", op, "")
    if match := _GCN_GLOBAL.match(op):
        if "_lds_" in op or rest.split()[-1:] == ["lds"]:
            return Role(COPIES, "load to lds", op, "lds" if "_lds_" not in op else "")
        return Role(GLOBAL, f"global {match[1]}", op, "")
    return None


# --- SASS ---------------------------------------------------------------------------------

_SASS_BITS = re.compile(r"\.[US]?(8|16|32|64|128)(?=\.|$)")
_SASS_MATRIX = re.compile(r"(LDSM|STSM)\.16\.(M\w+(?:\.\d)?)")
_SASS_MMA = re.compile(r"(?:[HIDQBO]G?MMA|UTC[HIQO]MMA)\b")
_SASS_WAIT = re.compile(r"(?:WARPGROUP\.)?DEPBAR")
_SASS_DEPTH = re.compile(r", (0x[0-9a-f]+|\d+)$")
_SASS_REGISTER = re.compile(r"SR_(?:CTAID|CLUSTERID)\.([XYZ])", re.IGNORECASE)
_SASS_ACCESS = {"LDS": SHARED, "STS": SHARED, "LDG": GLOBAL, "STG": GLOBAL}
_SASS_BARRIERS = ("BAR", "SYNCS", "UCGABAR_ARV", "UCGABAR_WAIT", "UTCBAR", "WARPSYNC")
_SASS_COPIES = ("LDGSTS", "UTMALDG", "UTMASTG", "UTMAREDG", "UTMAPF", "UBLKCP", "UBLKRED", "STAS")


def sass(op: str, rest: str) -> Role | None:
    """The role of a statement of SASS, or None."""
    base, _, qualifiers = op.partition(".")
    if match := _SASS_MATRIX.match(op):
        return Role(SHARED, match[1], match[1], match[2])
    if base in _SASS_ACCESS:
        bits = _SASS_BITS.search(op)
        return Role(_SASS_ACCESS[base], base, base, f"{bits[1] if bits else 32} bits")
    if _SASS_MMA.match(op):
        return Role(MMA, MMA, op, "")
    if _SASS_WAIT.match(op):
        depth = _SASS_DEPTH.search(rest)
        name = op.removesuffix(".LE")
        return Role(WAITS, name, name, str(int(depth[1], 0)) if depth else "")
    if base in ("MEMBAR", "FENCE"):
        return Role(FENCES, base, op, "")
    if base in _SASS_BARRIERS or op == "WARPGROUP.ARRIVE":
        group = ".".join(op.split(".")[:2])
        detail = numbers(rest) if base == "BAR" else ""
        return Role(BARRIERS, group, op, detail)
    if base == "USETMAXREG":
        registers = _CONSTANT.search(rest)
        count = str(int(registers[0], 0)) if registers else rest
        return Role(WARPS, qualifiers.partition(".")[0], op, f"registers {count}")
    if base in _SASS_COPIES:
        bits = _SASS_BITS.search(op) if base == "LDGSTS" else None
        size = f"{int(bits[1]) // 8 if bits else 4} bytes" if base == "LDGSTS" else ""
        return Role(COPIES, base, base if base == "LDGSTS" else op, size)
    if match := _SASS_REGISTER.search(rest):
        return Role(PROGRAM, f"{PROGRAM} {match[1].lower()}", match[0], "")
    return None
