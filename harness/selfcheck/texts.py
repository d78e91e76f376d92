"""What is planted in texts: IR, assembly and launch metadata."""

from __future__ import annotations

from harness.record import Record
from harness.selfcheck.listing import Find, other_name, removed, repeated, replaced, swapped


class Plant(Record, frozen=True):
    """A kind of change: where it can be made in a text, and a regular expression for what the
    kinds of the difference (``harness.explain``) must say. ``leads``: what differs may be shown
    where the changed line leads to (blocks are numbered by first use)."""

    kind: str
    find: Find
    says: str = ""
    leads: bool = False


def _more(number: str) -> str:
    return str(int(number, 0) + 1)


def _double(number: str) -> str:
    return str(2 * int(number, 0))


def _nothing(text: str) -> str:
    return ""


def _first_of(*cycle: str) -> dict[str, str]:
    return dict(zip(cycle, cycle[1:] + cycle[:1], strict=True))


_TYPES = _first_of("f32", "f16", "bf16") | _first_of("i32", "i64") | {"i1": "i8", "i16": "i32"}
_PREDICATES = _first_of("slt", "sle", "sgt", "sge") | _first_of("ult", "ule", "ugt", "uge")
_PREDICATES |= _first_of("eq", "ne") | _first_of("ogt", "oge", "olt", "ole")
_ORDERS = _first_of("acquire", "release", "relaxed", "acq_rel") | {"monotonic": "seq_cst"}
_SCOPES = _first_of("gpu", "cta", "sys") | {"cluster": "gpu", "agent": "workgroup"}
_SCOPES |= {"device": "block", "block": "device"}

_MLIR_BARRIER = r"barrier"
_MLIR_OP = r"^ +(?:%\S+(?:, %\S+)* = )?(?:\"?[a-z_]+\.[a-z_.]+)"
_MLIR_FUNCTION = r"tt\.func "
_NOT_REGION = r"[{}]\s*$|^\s*\^|tt\.func|module"
_MODULE = r"^module|^#|tt\.func"

MLIR = (
    Plant("operand", other_name(r"(%[\w$.-]+(?:#\d+)?)", _MLIR_FUNCTION)),
    Plant("constant", replaced(r"arith\.constant (?:dense<)?(-?\d+)\b(?!\.)", _more), "constant"),
    Plant("constant", replaced(r"arith\.constant .*?(\d\.\d+)e[+-]", lambda n: "7.500000")),
    Plant("attribute", replaced(r"\w = (\d+) : i\d+", _more, without=_MODULE)),
    Plant(
        "attribute",
        replaced(r"= (true|false)", _first_of("true", "false").get),
        "attribute|layout|fence",
    ),
    Plant("attribute", replaced(r"inputPrecision = (\w+)", lambda text: "ieee_3x")),
    Plant("wait depth", replaced(r"wait.*(?:num|pendings) = (\d+)", _more), "wait depth"),
    Plant(
        "barrier", replaced(r"(?:init_barrier|arrive_barrier|expect) .*, (\d+)", _more), "barrier"
    ),
    Plant("barrier", removed(_MLIR_BARRIER, without=rf" = |{_NOT_REGION}"), "barrier"),
    Plant("memory order", replaced(r"atomic\w* \w+, (\w+), \w+", _ORDERS.get)),
    Plant("memory scope", replaced(r"atomic\w* \w+, \w+, (\w+)", _SCOPES.get)),
    Plant("memory scope", replaced(r"fence\w* \{bCluster = (\w+)", {"false": "true"}.get)),
    Plant("layout", replaced(r"^#\w+ = .*[\[ ](\d+)[\],]", _double), "layout"),
    Plant("type", replaced(r"[x<: ](f32|f16|bf16|i32|i1|i16)\b(?!\S* =)", _TYPES.get, _MLIR_OP)),
    Plant("shape", replaced(r"(?:tensor|memdesc)<(\d+)x", _double, _MLIR_OP), "type|async copy"),
    Plant("predicate", replaced(r"arith\.cmp[if] (\w+),", _PREDICATES.get), "predicate|cmpf"),
    Plant(
        "operation",
        replaced(
            r"(arith\.(?:addi|subi|muli|addf|subf|mulf|maxnumf|minnumf))\b",
            _first_of("arith.addi", "arith.subi", "arith.muli").get,
        ),
    ),
    Plant(
        "operation",
        replaced(
            r"(arith\.(?:addf|subf|mulf))\b",
            _first_of("arith.addf", "arith.subf", "arith.mulf").get,
        ),
    ),
    Plant("register request", replaced(r"equestedRegisters = array<i32: (\d+)", _more), "register"),
    Plant("warps", replaced(r'"ttg\.num-warps" = (\d+)', _double), "module attribute"),
    Plant("warps", replaced(r'threads-per-warp" = (\d+)', _double), "module attribute"),
    Plant("target", replaced(r'ttg\.target = "\w+:(\w+)"', lambda text: f"{text}9")),
    Plant("warps", replaced(r"num_warps\((\d+)\)", _double), "warps"),
    Plant("removal", removed(_MLIR_OP, without=_NOT_REGION)),
    Plant("removal", removed(r"^ +(?:tt\.store|ttg\.async_\w+|ttng\.\w+|ttg\.local_store)\b")),
    Plant("order", swapped(_MLIR_OP, without=rf"arith\.constant|{_NOT_REGION}")),
    Plant("repetition", repeated(r"^ +(?:tt\.store|ttg\.local_store|ttng?\.\w*barrier) ")),
)

_LLVM_OP = r"^  +(?:%\S+ = )?(?:tail )?[a-z]"
_LLVM_FUNCTION = r"^define "

LLVM = (
    Plant("operand", other_name(r"(?<![\w@])(%\d+)\b", _LLVM_FUNCTION)),
    Plant("constant", replaced(r"\bi(?:64|32|16|8) (-?\d+)\b", _more, _LLVM_OP)),
    Plant("constant", replaced(r"float (0x[0-9A-F]+)", lambda n: f"0x{int(n, 16) ^ 1 << 40:016X}")),
    Plant("alignment", replaced(r"align (\d+)", _double, _LLVM_OP)),
    Plant("address space", replaced(r"addrspace\((\d)\)", {"1": "3", "3": "1"}.get, _LLVM_OP)),
    Plant("wait depth", replaced(r"wait\.group[\w.]*\(i\d+ (\d+)", _more), "wait depth"),
    Plant("wait depth", replaced(r"waitcnt\(i32 (-?\d+)", _more), "wait depth"),
    Plant("wait depth", replaced(r"wait\w*_group[\w.]* (\d+)", _more), "wait depth"),
    Plant("barrier", replaced(r"barrier[\w.]*\(i32 (\d+)", _more), "barrier"),
    Plant(
        "barrier", removed(r"^ +(?:tail )?call void @llvm\.[\w.]*barrier|fence "), "barrier|fence"
    ),
    Plant("memory scope", replaced(r'syncscope\("(\w+)', _SCOPES.get)),
    Plant("memory scope", replaced(r'"[^"]*\.(cta|gpu|sys)\.[^"]*"', _SCOPES.get)),
    Plant(
        "memory order", replaced(r"\b(acquire|release|acq_rel|relaxed|monotonic)\b", _ORDERS.get)
    ),
    Plant("flag", replaced(r"( (?:nsw|nuw|contract|exact|inbounds|fast|disjoint))\b", _nothing)),
    Plant("predicate", replaced(r"[if]cmp (?:\w+ )*?(\w+) (?:i\d+|float|half)", _PREDICATES.get)),
    Plant(
        "operation", replaced(r" = (add|sub|mul|xor) ", _first_of("add", "sub", "mul", "xor").get)
    ),
    Plant("operation", replaced(r" = (fadd|fsub|fmul) ", _first_of("fadd", "fsub", "fmul").get)),
    Plant("type", replaced(r"\b(float|half)\b", _first_of("float", "half").get, _LLVM_OP)),
    Plant(
        "branch",
        replaced(r"br i1 %\w+, label (%[\w.]+, label %[\w.]+)", lambda text: _turned(text)),
        leads=True,
    ),
    Plant(
        "function attribute", replaced(r'="(\d+)', _more, r"^attributes #"), "attribute|signature"
    ),
    Plant("metadata", replaced(r"\bi(?:32|1) (\d+)", _more, r"^!\d+ = "), "metadata"),
    Plant("removal", removed(_LLVM_OP, without=r"^  +(?:br|ret) ")),
    Plant("removal", removed(r"^ +(?:store|(?:tail )?call void) ")),
    Plant("order", swapped(_LLVM_OP, without=r"^  +(?:br|ret) |= phi ")),
    Plant("repetition", repeated(r"^ +(?:store|(?:tail )?call void) ")),
)


def _turned(labels: str) -> str:
    first, second = labels.split(", label ")
    return f"{second}, label {first}"


_PTX_OP = r"^\s+(?:@!?%\w+\s+)?[a-z][\w.:]*[\s;]"
_PTX_FUNCTION = r"\.(?:entry|func) "

PTX = (
    Plant("register", other_name(r"(%(?:r|rd|f|fd|p|rs|h|b)\d+)\b", _PTX_FUNCTION)),
    Plant("constant", replaced(r", (-?\d+);", _more, _PTX_OP)),
    Plant("constant", replaced(r"0f([0-9A-F]{8})", lambda n: f"{int(n, 16) ^ 1:08X}", _PTX_OP)),
    Plant("offset", replaced(r"\[%\w+\+(\d+)\]", _more, _PTX_OP)),
    Plant("wait depth", replaced(r"wait_group(?:\.\w+)*\s+(\d+)", _more), "wait depth"),
    Plant("barrier", replaced(r"(?:bar|barrier)\.[\w.:]*sync\w*[\w.]*\s+(\d+)", _more)),
    Plant("barrier", removed(r"^\s+(?:@!?%\w+\s+)?(?:bar|barrier|mbarrier|fence)\."), "bar|fence"),
    Plant("memory scope", replaced(r"\.(?:acquire|release|relaxed|acq_rel)\.(\w+)", _SCOPES.get)),
    Plant("memory order", replaced(r"\.(acquire|release|relaxed|acq_rel)\.", _ORDERS.get)),
    Plant("predicate", replaced(r"@(%p\d+)", lambda text: f"!{text}")),
    Plant(
        "predicate", replaced(r"setp\.(\w+)\.", _first_of("lt", "le", "gt", "ge", "eq", "ne").get)
    ),
    Plant("vector width", replaced(r"\.(v2|v4)\.", _first_of("v2", "v4").get), "vector width"),
    Plant(
        "type",
        replaced(
            r"\.(f32|f16|s32|u32|b32|b64|u64)\b",
            lambda t: f"{t[0]}{96 - int(t[1:])}" if t[1:] != "16" else "f32",
            _PTX_OP,
        ),
    ),
    Plant(
        "modifier",
        replaced(r"(\.(?:rn|ftz|wide|lo|approx|sat|noinc|trans|volatile))\b", _nothing, _PTX_OP),
    ),
    Plant("branch", other_name(r"(\$L__BB\d+_\d+)", _PTX_FUNCTION)),
    Plant("launch bound", replaced(r"\.(?:req|max)ntid (\d+)", _double), "launch bound"),
    Plant("shared memory", replaced(r"\.shared .*\.align (\d+)", _double), "shared memory"),
    Plant("target", replaced(r"\.target (sm_\d+a?)", lambda text: f"{text}f"), "target"),
    Plant("removal", removed(_PTX_OP, without=r"bra|ret;")),
    Plant("order", swapped(_PTX_OP, without=r"bra|ret;")),
    Plant("repetition", repeated(r"^\s+(?:@!?%\w+\s+)?(?:st|red|atom|cp|bar)\.")),
)

_GCN_OP = r"^\s+[a-z][a-z0-9_]+(?:\s|$)"

AMDGCN = (
    Plant("register", replaced(r"\b[vsa](\d+)\b", _more, _GCN_OP)),
    Plant("register", replaced(r"\b[vsa]\[(\d+):\d+\]", _more, _GCN_OP)),
    Plant(
        "constant", replaced(r", (0x[0-9a-f]+|-?\d+)\s*$", lambda n: hex(int(n, 0) + 1), _GCN_OP)
    ),
    Plant("offset", replaced(r"offset:(\d+)", _more, _GCN_OP)),
    Plant("wait depth", replaced(r"(?:vmcnt|lgkmcnt)\((\d+)\)", _more), "wait depth"),
    Plant("barrier", removed(r"^\s+s_barrier"), "barrier"),
    Plant("memory scope", replaced(r"( (?:sc0|sc1|nt|glc))\b", _nothing, _GCN_OP)),
    Plant(
        "memory scope",
        replaced(r"(?:global|buffer|flat)_(?:load|store)\w* .*?(\s*)$", lambda text: " sc1"),
    ),
    Plant(
        "operation",
        replaced(
            r"\b(v_add|v_sub|s_add|s_sub)_", _first_of("v_add", "v_sub", "s_add", "s_sub").get
        ),
    ),
    Plant(
        "branch",
        replaced(
            r"s_(cbranch_\w+z)\b",
            lambda text: text[:-1] + "nz" if text[-2:] != "nz" else text[:-2] + "z",
        ),
    ),
    Plant("launch metadata", replaced(r"\.amdhsa_\w+ (\d+)", _more), "launch metadata"),
    Plant("launch metadata", replaced(r"^\s+(?:- )?\.\w+:\s+(\d+)\s*$", _more), "launch metadata"),
    Plant("target", replaced(r"amdgcn_target .*(gfx\w+)", lambda text: "gfx90a")),
    Plant("removal", removed(_GCN_OP, without=r"s_(?:branch|endpgm)")),
    Plant("order", swapped(_GCN_OP, without=r"s_c?branch|s_endpgm")),
    Plant("repetition", repeated(r"^\s+(?:s_barrier|s_waitcnt|\w+_store)")),
)

_ENCODED = r"/\* 0x"


def _digit(text: str) -> str:
    return f"{int(text, 16) ^ 1:x}"


SASS = (
    Plant("encoding", replaced(r"/\* 0x[0-9a-f]{7}([0-9a-f])", _digit), "control codes"),
    Plant("control code", replaced(r"^\s+/\* 0x0*([0-9a-f])[0-9a-f]+ \*/", _digit), "control"),
    Plant("register", replaced(r"\bR(\d+)\b", _more)),
    Plant("constant", replaced(r", (0x[0-9a-f]+)", lambda n: hex(int(n, 16) + 1))),
    Plant(
        "wait depth",
        replaced(r"DEPBAR\.LE SB\d, (0x\d+)", lambda n: hex(int(n, 16) + 1)),
        "wait depth",
    ),
)

METADATA = (
    Plant("launch metadata", replaced(r'^ "\w+": (\d+),?$', _more), "launch metadata"),
    Plant(
        "launch metadata",
        replaced(r": (true|false)", _first_of("true", "false").get),
        "launch metadata",
    ),
    Plant("launch metadata", replaced(r'^ "\w+": "(\w+)', lambda text: text + "x")),
    Plant("launch metadata", removed(r'^ "\w+": [^\[{]*,$'), "launch metadata"),
)

PLANTS = {
    "ttir": MLIR,
    "ttgir": MLIR,
    "llir": LLVM,
    "ptx": PTX,
    "amdgcn": AMDGCN,
    "sass": SASS,
    "metadata": METADATA,
}
"""By stage. Kinds may occur several times: each gets its own plantings."""
