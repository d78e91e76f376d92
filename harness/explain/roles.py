"""Roles of statements: in MLIR and LLVM IR here, in assembly in its own module."""

from __future__ import annotations

import re
from collections.abc import Callable

from harness.explain import assembly
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
from harness.explain.statements import Statement


def role(statement: Statement) -> Role | None:
    """The role of ``statement``, or None."""
    return _ROLES[statement.language](statement.op, statement.rest)


# --- MLIR ---------------------------------------------------------------------------------

_DEPTH = re.compile(r"\b(?:num|num_inst|pendings) = (-?\d+)|(?:^|[\s(])(-?\d+)\b")
_ATTRIBUTE_TYPE = re.compile(r" : i\d+(?=[,}])")
_REGISTERS = re.compile(r"requestedRegisters = array<i32: ([^>]*)>")
_WARPS = re.compile(r"num_warps\((\d+)\)")
_ATTRIBUTES = re.compile(r"\{[^{}]*\}")
_INTEGERS = re.compile(r", (\d+)(?= *[,{:]|$)")
_SHAPED = re.compile(r"<((?:\d+x)+)([a-zA-Z]\w*)")
_MLIR_MMA = re.compile(
    r"tt\.dot(?:_scaled)?|ttng\.(?:warp_group_dot|tc_gen5_mma(?:_scaled)?)"
    r"|rocdl\.mfma\..*|nvvm\.(?:mma\.sync|wgmma\.mma_async)|nvg\.wgmma"
)
_SIZES = re.compile(r"\b([mnk]) = (\d+)")
_MLIR_COPY = re.compile(
    r"ttg\.async_(?:copy|remote)\w+|ttng\.async_(?:tma_(?!store_)\w+|store|clc\w+)"
    r"|amdg\.(?:buffer_load_to_local|async_\w*(?:copy|store|load)\w*)|ttng\.tmem_copy"
)
_MLIR_POINTER = re.compile(r"!llvm\.ptr<([13])>")
_MLIR_VALUE = re.compile(r"vector<(\d+)x(\w+)>|(?:-> |: )([a-z]+\d+)\b")
_SPECIAL = re.compile(r"nvvm\.read\.ptx\.sreg\.(?:ctaid|clusterid)\.([xyz])")


def _mlir(op: str, rest: str) -> Role | None:
    rest = _ATTRIBUTE_TYPE.sub("", rest)
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
        sizes = "".join(name + size for name, size in sorted(_SIZES.findall(head), key=_mnk))
        operands = [shape + kind for shape, kind in _SHAPED.findall(rest)[:2]]
        return Role(MMA, MMA, op, sizes or " * ".join(operands))
    if "fence" in op:
        return Role(FENCES, op, op, attributes)
    if "barrier" in op or name in ("cluster_arrive", "cluster_wait"):
        detail = [*_INTEGERS.findall(head), *([attributes] if attributes else [])]
        return Role(BARRIERS, op, op, " ".join(detail))
    if "wait" in op:
        match = _DEPTH.search(head)
        return Role(WAITS, op, op, (match[1] or match[2]) if match else "")
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


def _mnk(size: tuple[str, str]) -> int:
    return "mnk".index(size[0])


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

_ACCESS = re.compile(r"(?:volatile )?(?:<(\d+) x (\w+)>|(\w+))(?: [^,]*)?, ptr addrspace\(([13])\)")
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
        return Role(BARRIERS, op.replace(".aligned", ""), op, numbers(_typeless(rest)))
    if "wait" in op:
        return Role(WAITS, op, op, integers)
    if "mma" in op and "commit" not in op:
        return Role(MMA, MMA, op, "")
    if "ldmatrix" in op or "stmatrix" in op:
        match = _MATRIX.search(op)
        return Role(
            SHARED, "ldmatrix" if "ldmatrix" in op else "stmatrix", op, match[1] if match else ""
        )
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


_ROLES: dict[str, Callable[[str, str], Role | None]] = {
    "mlir": _mlir,
    "llvm": _llvm,
    "ptx": assembly.ptx,
    "gcn": assembly.gcn,
    "sass": assembly.sass,
}
