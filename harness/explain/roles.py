"""Roles: the part that a statement plays for an engineer who reads the code.

A wait with its depth, a barrier, a fence with its scope, a memory access with its width, a
matrix instruction with its shape. Statements without such a part have no role.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from harness.explain.statements import Statement

WAITS = "waits"
BARRIERS = "barriers"
FENCES = "fences"
WARPS = "warp specialise"
SHARED = "shared memory"
GLOBAL = "global memory"
MMA = "mma"
COPIES = "async copies"
PROGRAM = "program id"


class Role(NamedTuple):
    """``name`` with ``detail`` (depth, scope, width, shape, ...), counted in ``table``.

    Two statements of one ``group`` do the same job, so they are compared with each other.
    """

    table: str
    group: str
    name: str
    detail: str

    def __str__(self) -> str:
        return f"{self.name} {self.detail}".rstrip()


def role(statement: Statement) -> Role | None:
    """The role of ``statement``, or None."""
    return _ROLES[statement.language](statement.op, statement.rest)


# --- MLIR ---------------------------------------------------------------------------------

_DEPTH = re.compile(r"\b(?:num|num_inst|pendings) = (-?\d+)|(?:^|[\s(])(-?\d+)\b")
_REGISTERS = re.compile(r"requestedRegisters = array<i32: ([^>]*)>")
_WARPS = re.compile(r"num_warps\((\d+)\)")
_ATTRIBUTES = re.compile(r"\{[^{}]*\}")
_INTEGERS = re.compile(r", (\d+)(?= *[,{:]|$)")
_SHAPED = re.compile(r"<((?:\d+x)+)([a-zA-Z]\w*)")
_MLIR_MMA = re.compile(
    r"tt\.dot(?:_scaled)?|ttng\.(?:warp_group_dot|tc_gen5_mma(?:_scaled)?)"
    r"|rocdl\.mfma\..*|nvvm\.(?:mma\.sync|wgmma\.mma_async)"
)
_MLIR_COPY = re.compile(
    r"ttg\.async_(?:copy|remote)\w+|ttng\.async_(?:tma_(?!store_)\w+|store|clc\w+)"
    r"|amdg\.(?:buffer_load_to_local|async_\w*(?:copy|store|load)\w*)|ttng\.tmem_copy"
)
_MLIR_POINTER = re.compile(r"!llvm\.ptr<([13])>")
_MLIR_VALUE = re.compile(r"vector<(\d+)x(\w+)>|(?:-> |: )([a-z]+\d+)\b")
_SPECIAL = re.compile(r"nvvm\.read\.ptx\.sreg\.(?:ctaid|clusterid)\.([xyz])")


def _mlir(op: str, rest: str) -> Role | None:
    head = rest.partition(" : ")[0]
    attributes = "".join(_ATTRIBUTES.findall(head)[-1:])
    name = op.rpartition(".")[2]
    if op == "partition":
        match = _WARPS.search(rest)
        return Role(WARPS, op, "partition of", f"{match[1] if match else '?'} warps")
    if op == "ttg.warp_specialize":
        match = _REGISTERS.search(rest)
        return Role(WARPS, "requested registers", op, f"registers {match[1] if match else 'none'}")
    if op == "tt.get_program_id":
        return Role(PROGRAM, f"{PROGRAM} {head[:1]}", op, head[:1])
    if match := _SPECIAL.match(op):
        return Role(PROGRAM, f"{PROGRAM} {match[1]}", op, "")
    if _MLIR_MMA.fullmatch(op):
        operands = [shape + kind for shape, kind in _SHAPED.findall(rest)[:2]]
        return Role(MMA, MMA, op, " * ".join(operands))
    if "fence" in op:
        return Role(FENCES, op, op, attributes)
    if "barrier" in op or name in ("cluster_arrive", "cluster_wait"):
        detail = [*_INTEGERS.findall(head), *([attributes] if attributes else [])]
        return Role(BARRIERS, op, op, " ".join(detail))
    if "wait" in op and (match := _DEPTH.search(head)):
        return Role(WAITS, op, op, match[1] or match[2])
    if _MLIR_COPY.fullmatch(op):
        return Role(COPIES, op, op, _bytes(rest))
    if op.startswith(("ttg.local_load", "ttg.local_store", "ttg.local_gather", "ttg.local_sc")):
        return Role(SHARED, op, op, "")
    if op in ("llvm.load", "llvm.store") and (match := _MLIR_POINTER.search(rest)):
        value = _MLIR_VALUE.search(rest)
        kind, number = (value[2] or value[3], value[1]) if value else ("", "")
        return _access(op, match[1], kind, number)
    return None


_LLVM_TYPES = {"float": "b32", "double": "b64", "half": "b16", "bfloat": "b16", "bf16": "b16"}


def _access(op: str, space: str, kind: str, number: str | None) -> Role:
    """A load or store of ``number`` values; the width as PTX writes it, ``b32x4``."""
    name = f"{op} {SHARED if space == '3' else GLOBAL}".removesuffix(" memory")
    group = f"{'ld' if op.endswith('load') else 'st'}.{name.rpartition(' ')[2]}"
    width = _LLVM_TYPES.get(kind, re.sub(r"^[a-z]+(?=\d)", "b", kind))
    many = f"x{number}" if number and number != "1" else ""
    return Role(SHARED if space == "3" else GLOBAL, group, name, width + many)


def _bytes(rest: str) -> str:
    """The size of the copied tile: the last shaped type of an asynchronous copy."""
    shapes = [match for match in _SHAPED.findall(rest) if match[1] != "i64"]
    if not shapes:
        return ""
    dimensions, kind = shapes[-1]
    digits = re.search(r"\d+$", kind)
    bits = 8 if kind.startswith("f8") or digits is None else int(digits[0])
    for size in dimensions.split("x")[:-1]:
        bits *= int(size)
    return f"{bits // 8} bytes"


# --- LLVM IR ------------------------------------------------------------------------------

_ACCESS = re.compile(
    r"(?:volatile )?(?:<(\d+) x (\w+)>|(\w+))(?: [^,]*)?, ptr addrspace\(([13])\)"
)
_ARGUMENTS = re.compile(r"\bi\d+ (-?\d+)\b")
_MATRIX = re.compile(r"\.(x\d(?:\.trans)?)\.")
_READ_REGISTER = re.compile(
    r"llvm\.(?:nvvm\.read\.ptx\.sreg\.(?:ctaid|clusterid)|amdgcn\.workgroup\.id)\.([xyz])"
)
_WAITCNT = "llvm.amdgcn.s.waitcnt"


def _llvm(op: str, rest: str) -> Role | None:
    if op in ("load", "store") and (match := _ACCESS.match(rest)):
        return _access(op, match[4], match[2] or match[3], match[1])
    if op == "fence":
        return Role(FENCES, op, op, rest)
    if not op.startswith(("llvm.nvvm.", "llvm.amdgcn.")):
        return None
    integers = " ".join(_ARGUMENTS.findall(rest))
    if match := _READ_REGISTER.fullmatch(op):
        return Role(PROGRAM, f"{PROGRAM} {match[1]}", op, "")
    if op == _WAITCNT:
        return Role(WAITS, op, op, _waitcnt(int(integers)) if integers else "")
    if "setmaxnreg" in op:
        return Role(WARPS, op, op, f"registers {integers}")
    if "fence" in op:
        return Role(FENCES, op, op, "")
    if "barrier" in op or ".bar.warp" in op:
        return Role(BARRIERS, op.replace(".aligned", ""), op, _numbers(_typeless(rest)))
    if "wait" in op:
        return Role(WAITS, op, op, integers)
    if "mma" in op and "commit" not in op:
        return Role(MMA, MMA, op, "")
    if "ldmatrix" in op or "stmatrix" in op:
        match = _MATRIX.search(op)
        return Role(SHARED, "ldmatrix" if "ldmatrix" in op else "stmatrix", op, match[1] if match else "")
    if ".lds" in op or "cp.async" in op or "asyncmark" in op:
        size = integers.partition(" ")[0]
        return Role(COPIES, op, op, f"{size} bytes" if ".lds" in op and size else "")
    if ".ds.read" in op:
        return Role(SHARED, op, op, "")
    if match := re.match(r"llvm\.amdgcn\.raw\.ptr\.buffer\.(load|store)\.v?(\w+)", op):
        return Role(GLOBAL, f"buffer {match[1]}", op, "")
    return None


def _typeless(rest: str) -> str:
    """The arguments of a call, without their types."""
    return re.sub(r"\bi\d+ (?:[a-z]+ )*", "", rest[1:].partition(")")[0])


def _waitcnt(mask: int) -> str:
    """The counters of gfx9's `s_waitcnt` operand that it waits for, as the assembler writes."""
    counters = {
        "vmcnt": (mask & 0xF | mask >> 10 & 0x30, 0x3F),
        "expcnt": (mask >> 4 & 0x7, 0x7),
        "lgkmcnt": (mask >> 8 & 0xF, 0xF),
    }
    return " ".join(f"{name}({n})" for name, (n, never) in counters.items() if n != never)


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
_OPERAND = re.compile(r"(?:0x[0-9A-Fa-f]+|-?\d+)")
_PTX_COPY = re.compile(
    r"(cp\.(?:reduce\.)?async(?:\.bulk)?(?:\.prefetch)?(?:\.tensor\.\dd)?(?:\.\w+_group)?"
    r"|st\.async|clusterlaunchcontrol)\b\.?(.*)"
)
_PTX_REGISTER = re.compile(r"%(?:ctaid|clusterid)\.([xyz])")
_CONSTANT = re.compile(r"(?<![\w%$+])(?:0x[0-9A-Fa-f]+|\d+)\b")


def _ptx(op: str, rest: str) -> Role | None:
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
        group = "fence" if op.startswith("membar") else op.partition(".acq_rel")[0].partition(".sc")[0]
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
        operands = "" if match[1].startswith("mbarrier") else _numbers(rest)
        if match[1].endswith(("init", "expect_tx")) or "expect_tx" in match[2]:
            operands = "".join(_CONSTANT.findall(rest)[-1:])
        return Role(BARRIERS, group, match[1], f"{match[2]} {operands}".strip())
    if match := _PTX_COPY.match(op):
        return Role(COPIES, match[1], match[1], _ptx_copy(match[1], match[2], rest))
    if match := _PTX_REGISTER.search(rest):
        return Role(PROGRAM, f"{PROGRAM} {match[1]}", match[0], "")
    return None


def _numbers(rest: str) -> str:
    """Operands that are numbers (a barrier's id and threads); ``reg`` for the others."""
    operands = filter(None, (each.strip() for each in rest.split(",")))
    return ", ".join(each if _OPERAND.fullmatch(each) else "reg" for each in operands)


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


def _gcn(op: str, rest: str) -> Role | None:
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


def _sass(op: str, rest: str) -> Role | None:
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
        detail = _numbers(rest) if base == "BAR" else ""
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


_ROLES: dict[str, Callable[[str, str], Role | None]] = {
    "mlir": _mlir,
    "llvm": _llvm,
    "ptx": _ptx,
    "gcn": _gcn,
    "sass": _sass,
}
