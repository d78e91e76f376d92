"""Which lines of an artifact say something about code.

Written without the comparison's rules: a rule that ignores too much must not hide from the
self-check what it ignores.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_DEAD = {
    "llir": re.compile(
        r"\s*;|source_filename|!llvm\.(?:ident|dbg)|\s*#dbg_|!\d+ = (?:distinct )?!DI"
        r'|!\d+ = !\{i32 \d, !"(?:Debug Info|Dwarf) Version"|!\d+ = !\{!"clang'
    ),
    "ptx": re.compile(r"\s*//|\.version |\s*\.(?:loc|file)\b|\$L__(?:tmp|func_)|\s*[{}()]\s*$"),
    "amdgcn": re.compile(r"\s*;|\s*\.(?:ident|loc|file|cfi_\w+)\b|\.L(?:tmp|func_)"),
    "sass": re.compile(r"\s*//"),
}
_SECTION = {
    "ptx": re.compile(r"\s*\.section\s+(\.\w+)|(\})\s*$"),
    "amdgcn": re.compile(r"\s*\.(?:section\s+\"?([\w.\-]+)|(text|data|bss|amdgpu_metadata)\b)"),
    "sass": re.compile(r"\s*\.section\s+([^\s,]+)|//-+ +(\S+)"),
}


def live(stage: str, lines: Sequence[str]) -> list[int]:
    """The indices of the lines that are neither empty, comments, debug information nor the names
    and versions of tools."""
    dead, section = _DEAD.get(stage), _SECTION.get(stage)
    found, debug = [], False
    for i, line in enumerate(lines):
        if section and (match := section.match(line)):
            name = match[1] or match[2] or ""
            debug = ".debug_" in name or "nv_debug" in name or name == ".note.nv.tkinfo"
        elif not debug and line.strip() and not (dead and dead.match(line)):
            found.append(i)
    return found
