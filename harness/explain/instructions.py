"""Instructions of a binary's disassembly: how many of what sort, and how much they spill."""

from __future__ import annotations

import re
from collections import Counter

from harness.explain.statements import Statement, parse

OTHER = "other"
PADDING = "padding"

_SASS = (
    ("mma", r"[HIDQBO]G?MMA|UTC[HIQO]MMA"),
    ("async copy", r"LDGSTS|UTMA(?:LDG|STG|REDG|PF)|UBLK\w+|STAS|UTCCP"),
    ("wait", r"DEPBAR|SYNCS\.PHASECHK|WARPGROUP\.DEPBAR|UCGABAR_WAIT|LDGDEPBAR|ACQBULK"),
    ("barrier", r"BAR|B2R|SYNCS|UCGABAR_ARV|UTCBAR|WARPGROUP\.ARRIVE|MEMBAR|FENCE|ERRBAR|CGAERRBAR"
                r"|CCTL|UTMACMDFLUSH|UTMACCTL|WARPSYNC"),
    ("shared load", r"LDS|LDSM"),
    ("shared store", r"STS|STSM"),
    ("local load", "LDL"),
    ("local store", "STL"),
    ("global load", r"LDG|LD"),
    ("global store", r"STG|ST"),
    ("tensor memory", r"LDTM|STTM|UTCATOMSWS|UVIRTCOUNT"),
    ("atomic", r"ATOM|ATOMG|ATOMS|RED|REDG|REDAS"),
    ("control", r"BRA|BRX|JMP|JMX|CALL|RET|EXIT|BSSY|BSYNC|BREAK|YIELD|NANOSLEEP|BPT|KILL|BMOV"
                r"|USETMAXREG|PREEXIT|RPCMOV|WARPGROUPSET"),
    ("conversion", r"F2F|F2FP|F2I|F2IP|I2F|I2FP|I2I|I2IP|FRND"),
    ("float", r"F(?:ADD|MUL|FMA|MNMX|SEL|SET|SETP|CHK|SWZADD|HADD)\w*|H(?:ADD|MUL|FMA|MNMX|SET)\w*"
              r"|D(?:ADD|MUL|FMA|SETP)|MUFU"),
    ("move", r"MOV|IMAD\.MOV|CS2R|S2R|S2UR|R2UR|P2R|R2P|LDC|LDCU|PRMT|SEL|MOVM"),
    ("warp", r"SHFL|VOTEU?|REDUX|CREDUX|ELECT|MATCH"),
    ("integer", r"IADD\w*|IMAD|LEA|SHF|LOP3|PLOP3|ISETP|IABS|SGXT|BMSK|VIADD\w*|VIMNMX|IMNMX|POPC"
                r"|FLO|BREV|IDP|SHL|SHR|R2B"),
)  # fmt: skip
_GCN = (
    ("mma", r"v_s?mfmac?_\w+|v_wmma_\w+"),
    ("async copy", r"\w+_load_lds_\w+|global_load_async\w*"),
    ("wait", r"s_wait\w+|s_nop|s_sleep"),
    ("barrier", r"s_barrier\w*|buffer_(?:wbl2|inv|gl\d_inv)|s_dcache\w+"),
    ("shared load", r"ds_(?:read|load)\w+"),
    ("shared store", r"ds_(?:write|store)\w+"),
    ("local load", r"scratch_load\w+"),
    ("local store", r"scratch_store\w+"),
    ("atomic", r"\w+_atomic\w+|ds_(?:add|sub|min|max|and|or|xor|cmpst|rsub|inc|dec|wrxchg)\w+"),
    ("global load", r"(?:global|buffer|flat|s)_load\w+|s_buffer_load\w+"),
    ("global store", r"(?:global|buffer|flat)_store\w+"),
    ("control", r"s_(?:branch|cbranch|endpgm|call|setpc|swappc|getpc|trap|setprio|sethalt|sendmsg"
                r"|setreg|getreg|icache)\w*|s_\w+_saveexec_b64"),
    ("conversion", r"v_cvt\w+"),
    ("warp", r"ds_b?permute\w+|ds_swizzle\w+|v_readlane\w+|v_writelane\w+|v_readfirstlane\w+"
             r"|v_permlane\w+"),
    ("move", r"[sv]_(?:mov|movk|cmov|perm|pack|accvgpr|cselect|cndmask|swap)\w*"),
    ("float", r"v_\w*_(?:p?k?_?)(?:f16|f32|f64|bf16)\w*"),
    ("integer", r"[sv]_\w+"),
)  # fmt: skip
_SORTS = {
    "sass": tuple((sort, re.compile(f"U?(?:{pattern})(?:\\..*)?")) for sort, pattern in _SASS),
    "amdgcn": tuple((sort, re.compile(pattern)) for sort, pattern in _GCN),
}
_WIDTH = re.compile(r"\.(?:[US]?(8|16)|(64|128))\b|dwordx(\d)|_(byte|ubyte|short|ushort)\b")
_WORDS = {"byte": 1, "ubyte": 1, "short": 2, "ushort": 2}


def mix(stage: str, text: str) -> dict[str, int]:
    """How many instructions of each sort there are in SASS (``sass``) or ``amdgcn`` text.

    Every instruction is counted once, and NOPs of SASS as ``padding``.
    """
    found: Counter[str] = Counter()
    for line in text.splitlines():
        for statement in parse(stage, line):
            found[_sort(stage, statement)] += 1
    return dict(found)


def _sort(stage: str, statement: Statement) -> str:
    op = statement.op
    if op == "NOP":
        return PADDING
    if stage == "amdgcn" and statement.rest.endswith(" lds"):
        return "async copy"
    return next((sort for sort, pattern in _SORTS[stage] if pattern.fullmatch(op)), OTHER)


def spills(stage: str, text: str) -> tuple[int, int]:
    """Bytes per thread that the instructions of ``text`` store to local memory and load from
    it, each instruction counted once however often it runs.

    Local memory also holds arrays that a kernel indexes; kernels written in Triton have none.
    """
    found = {"local store": 0, "local load": 0}
    for line in text.splitlines():
        for statement in parse(stage, line):
            sort = _sort(stage, statement)
            if sort in found:
                found[sort] += _bytes(statement.op)
    return found["local store"], found["local load"]


def _bytes(op: str) -> int:
    match = _WIDTH.search(op)
    if match is None:
        return 4
    if match[4]:
        return _WORDS[match[4]]
    return 4 * int(match[3]) if match[3] else int(match[1] or match[2]) // 8
