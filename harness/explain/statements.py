"""Statements: what a line of IR or assembly executes, read at statement position.

An operation's name inside a type, a string, a comment, a label or a directive is not a
statement. PTX and GCN inside inline assembly are, with their own instruction set.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from harness.compare.text import STRING

TEXTS = ("ttir", "ttgir", "llir", "ptx", "amdgcn", "sass")
"""The stages whose text is read here."""


class Statement(NamedTuple):
    """One executed operation: ``op`` as written, ``rest`` of it (operands, attributes, types).

    ``language`` is ``mlir``, ``llvm``, ``ptx``, ``gcn`` or ``sass``. A call of LLVM IR has the
    callee as its ``op``: ``llvm.nvvm.barrier0``, or ``call @name`` for what is no intrinsic.
    """

    language: str
    op: str
    rest: str

    @property
    def family(self) -> str:
        """The operation without what varies: data movement by space, arithmetic by type."""
        return _FAMILIES[self.language](self.op)

    @property
    def identity(self) -> str:
        """The statement without the names of its values, to see the same one elsewhere."""
        return f"{self.op} {_NAMES[self.language].sub('%', self.rest)}".rstrip()


def parse(stage: str, line: str) -> tuple[Statement, ...]:
    """The statements on one line of a ``stage``'s text; none on a line that executes nothing."""
    return tuple(_PARSERS[stage](line))


def erase(stage: str, text: str) -> str:
    """``text`` of a stage without the names of values."""
    return _NAMES[_LANGUAGES[stage]].sub("%", text)


# --- MLIR ---------------------------------------------------------------------------------

_MLIR = re.compile(r"\s*(?:%[^=]*= )?\"?([A-Za-z_]\w*(?:\.[\w$]+)+)\"?(?=[\s(<{\"\[]|$)(.*)")
_PARTITION = re.compile(r"\s*partition\d+(\(.*\) num_warps\(\d+\).*)")
_MLIR_ASM = re.compile(rf"llvm\.inline_asm [^\"]*({STRING})")


def _mlir(line: str) -> Iterator[Statement]:
    if match := _PARTITION.match(line):
        yield Statement("mlir", "partition", match[1])
    elif match := _MLIR.match(line):
        asm = _MLIR_ASM.search(line) if match[1] == "llvm.inline_asm" else None
        if asm:
            yield from _inline(asm[1])
        else:
            yield Statement("mlir", match[1], match[2].strip())


# --- LLVM IR ------------------------------------------------------------------------------

_LLVM = re.compile(
    rf"  (?! )(?:%(?:[\w$.-]+|{STRING})'? = )?(?:(?:tail|musttail|notail) )?([a-z]\w*)\b(.*)"
)
_CALLEE = re.compile(rf"@({STRING}|[\w$.-]+)(\(.*)")
_LLVM_ASM = re.compile(rf"\basm (?:[a-z]+ )*({STRING})")
_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2})")


def _llvm(line: str) -> Iterator[Statement]:
    match = _LLVM.match(line)
    if match is None:
        return
    if match[1] != "call":
        yield Statement("llvm", match[1], match[2].partition(", !dbg ")[0].strip())
    elif asm := _LLVM_ASM.search(match[2]):
        yield from _inline(asm[1])
    elif callee := _CALLEE.search(match[2]):
        name = callee[1] if callee[1].startswith("llvm.") else f"call @{callee[1]}"
        yield Statement("llvm", name, callee[2].partition(", !dbg ")[0])
    else:
        yield Statement("llvm", "call", match[2].strip())


def _inline(string: str) -> Iterator[Statement]:
    text = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), string[1:-1])
    for line in text.replace("\\n", "\n").replace("\\t", "\t").splitlines():
        yield from _gcn(line) or _ptx(line)


# --- assembly -----------------------------------------------------------------------------

_COMMENT = re.compile(r"//.*|/\*.*?\*/")
_PTX_LABEL = re.compile(r"[\w$]+'?:(?!:)\s*")
_PTX = re.compile(r"(?:@!?[%$\w.]+'?\s+)?([a-z][\w.:]*)(?=\s|$)\s*(.*)")


def _ptx(line: str) -> Iterator[Statement]:
    for piece in _COMMENT.sub("", line).split(";"):
        piece = _PTX_LABEL.sub("", piece.lstrip("{} \t"), count=1)
        if match := _PTX.match(piece.lstrip("{} \t")):
            yield Statement("ptx", match[1], match[2].strip())


_GCN = re.compile(
    r"\s*((?:s|v|ds|buffer|tbuffer|global|flat|scratch|image|tensor)_[a-z0-9_]+)(?:\s+(.*))?"
)


def _gcn(line: str) -> list[Statement]:
    match = _GCN.fullmatch(_COMMENT.sub("", line).partition(";")[0].rstrip())
    return [Statement("gcn", match[1], match[2] or "")] if match else []


_SASS = re.compile(r"\s*(?:@(!?U?P\w+)\s+)?([A-Z][A-Z0-9]*(?:\.\w+)*)(?=[\s;])\s*(.*);")
_NEVER = ("!PT", "!UPT")


def _sass(line: str) -> Iterator[Statement]:
    if match := _SASS.match(_COMMENT.sub("", line)):
        # ptxas pads with loads under a predicate that is never true.
        op = "NOP" if match[1] in _NEVER else match[2]
        yield Statement("sass", op, match[3].strip())


_PARSERS: dict[str, Callable[[str], Iterator[Statement] | list[Statement]]] = {
    "ttir": _mlir,
    "ttgir": _mlir,
    "llir": _llvm,
    "ptx": _ptx,
    "amdgcn": _gcn,
    "sass": _sass,
}

# --- families -----------------------------------------------------------------------------

_SPACED = re.compile(r"(ld|st|atom|red)\.(?:.*\.)?(shared|global|param|local|const)\b")
_HEADED = re.compile(
    r"(?:cp\.reduce\.async\.bulk|cp\.async\.bulk|cp\.async\.\w+_\w+|cp\.async|shfl\.sync\.\w+"
    r"|barrier\.cluster\.\w+|(?:wgmma|tcgen05|mbarrier|barrier|bar|setmaxnreg|tensormap|vote"
    r"|redux|griddepcontrol|st)\.(?:sync\.)?(?:warp\.sync|\w+))"
)
_DATA_TYPE = re.compile(r"\.(pred|[a-z]+\d+(?:m\d+)?(?:x\d+)?)(?=\.|$)")


def _ptx_family(op: str) -> str:
    if match := _SPACED.match(op):
        return f"{match[1]}.{match[2]}"
    base = op.partition(".")[0]
    if match := _HEADED.match(op):
        return match[0]
    if base in ("fence", "membar", "ldmatrix", "stmatrix", "mma"):
        return base
    return ".".join([base, *_DATA_TYPE.findall(op)])


_TWO_PARTS = ("BAR", "SYNCS", "WARPGROUP", "UTCATOMSWS", "USETMAXREG")
_GCN_ENCODING = re.compile(r"(?:_e32|_e64|_sdwa|_dpp)+$")


def _sass_family(op: str) -> str:
    parts = op.split(".")
    return ".".join(parts[: 2 if parts[0] in _TWO_PARTS else 1])


_FAMILIES: dict[str, Callable[[str], str]] = {
    "mlir": str,
    "llvm": str,
    "ptx": _ptx_family,
    "gcn": lambda op: _GCN_ENCODING.sub("", op),
    "sass": _sass_family,
}

# --- names of values ----------------------------------------------------------------------

# A name that ends in ' belongs to one side only: so does a comparison write it.
_NAMES = {
    "mlir": re.compile(r"[%^][\w$.-]+'?(?:[:#]\d+)?"),
    "llvm": re.compile(rf"[%!](?:[\w$.-]+|{STRING})'?|#[0-9a-f]+\b"),
    "ptx": re.compile(r"%[A-Za-z]+\.?\d+\b'?|\$L_\w+'?|\$\d+"),
    "gcn": re.compile(r"\b[svat]\d+\b|\b[svat]\[\d+:\d+\]|\.L\w+'?"),
    "sass": re.compile(r"\bU?R\d+\b|\bU?P\d\b|\.L_\w+'?"),
}
_LANGUAGES = {
    "ttir": "mlir",
    "ttgir": "mlir",
    "llir": "llvm",
    "ptx": "ptx",
    "amdgcn": "gcn",
    "sass": "sass",
}
