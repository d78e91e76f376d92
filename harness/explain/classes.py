"""Arithmetic that serves addresses, predicates and moves, told from the work of a kernel."""

from __future__ import annotations

import re

from harness.explain.statements import Statement

ADDRESS = "address computation"
PREDICATE = "predicates"
MOVES = "register moves"
PADDING = "padding"

_FLOAT = re.compile(r"\bb?f(?:8\w+|16|32|64)(?:x\d)?\b|\b(?:float|half|bfloat|double)\b")
_POINTER = re.compile(r"!tt\.ptr<[^<>]*>|ptr addrspace\(\d\)")

_MLIR_ADDRESS = re.compile(
    r"arith\.(?:addi|subi|muli|div[su]i|rem[su]i|andi|ori|xori|shli|shr[su]i|ext[su]i|trunci"
    r"|index_cast|min[su]i|max[su]i|floordivsi|ceildivsi)"
    r"|tt\.(?:splat|make_range|expand_dims|broadcast|addptr)|ttg\.memdesc_(?:index|subslice)"
    r"|llvm\.(?:add|sub|mul|[su]div|[su]rem|shl|lshr|ashr|and|or|xor|[sz]ext|trunc"
    r"|getelementptr|ptrtoint|inttoptr|addrspacecast)"
)
_MLIR_BUFFER = "ttg.memdesc_"
_MLIR_MOVES = re.compile(r"llvm\.(?:insert|extract)(?:value|element)|llvm\.(?:bitcast|mlir\.undef)")
_LLVM_ADDRESS = re.compile(
    r"add|sub|mul|[su]div|[su]rem|shl|lshr|ashr|and|or|xor|[sz]ext|trunc|getelementptr|ptrtoint"
    r"|inttoptr|addrspacecast|llvm\.[su](?:min|max)\..*"
)
_LLVM_MOVES = re.compile(r"(?:insert|extract)(?:value|element)|shufflevector|bitcast|freeze|phi")
_PTX_ADDRESS = re.compile(
    r"(?:add|sub|mul|mad|div|rem|min|max|neg|shl|shr|and|or|xor|not|bfe|bfi|lop3|prmt|cvt|cvta"
    r"|mapa)\b(?!.*\bpred\b).*"
)
_PTX_PREDICATE = re.compile(r"setp\b.*|selp\b.*|\w+\.pred")
_GCN_ADDRESS = re.compile(
    r"[sv]_(?:add|sub|mul|mad|lsh|ash|and|andn2|or|or3|xor|xad|not|bf|min|max|abs|sext|bitset)"
    r"\w*_[uib]\d+(?:_[uib]\d+|_u24|_i24)*(?:_e32|_e64|_sdwa|_dpp)*"
)
_GCN_PREDICATE = re.compile(r"[sv]_(?:cmp|cmpk|cndmask|cselect|bitcmp\d)_?\w*")
_GCN_MOVES = re.compile(r"[sv]_(?:mov|movk|perm|pack|readfirstlane|accvgpr)_?\w*")
_SASS_ADDRESS = re.compile(
    r"U?(?:IADD3?|IMAD(?!\.MOV)|LEA|SHF|LOP3|IABS|SGXT|BMSK|VIADD|VIMNMX|IMNMX|I2I)\b.*"
)
_SASS_PREDICATE = re.compile(r"U?(?:ISETP|PLOP3|SEL|P2R|R2P)\b.*")
_SASS_MOVES = re.compile(r"(?:U?MOV|IMAD\.MOV|CS2R|R2UR|U?PRMT|S2UR|U?LDCU?|ULDC)\b.*")

_SORTS = {
    "mlir": (
        (_MLIR_MOVES, MOVES),
        (_MLIR_ADDRESS, ADDRESS),
        (re.compile(r"arith\.cmpi|llvm\.icmp"), PREDICATE),
    ),
    "llvm": ((_LLVM_MOVES, MOVES), (_LLVM_ADDRESS, ADDRESS), (re.compile("icmp"), PREDICATE)),
    "ptx": ((_PTX_PREDICATE, PREDICATE), (_PTX_ADDRESS, ADDRESS), (re.compile(r"mov\b.*"), MOVES)),
    "gcn": (
        (_GCN_PREDICATE, PREDICATE),
        (_GCN_MOVES, MOVES),
        (_GCN_ADDRESS, ADDRESS),
        (re.compile("s_nop"), PADDING),
    ),
    "sass": (
        (_SASS_PREDICATE, PREDICATE),
        (_SASS_MOVES, MOVES),
        (_SASS_ADDRESS, ADDRESS),
        (re.compile("NOP"), PADDING),
    ),
}


def arithmetic(statement: Statement) -> str | None:
    """What integer arithmetic or data movement serves, or None for anything else."""
    for pattern, sort in _SORTS[statement.language]:
        if pattern.fullmatch(statement.op):
            return None if sort == ADDRESS and _is_float(statement) else sort
    return None


def _is_float(statement: Statement) -> bool:
    if statement.language in ("gcn", "sass") or statement.op.startswith(_MLIR_BUFFER):
        return False
    text = f"{statement.op} {statement.rest}"
    return bool(_FLOAT.search(_POINTER.sub("", text)))
