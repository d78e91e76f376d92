"""Changes that never reach the GPU: they must be judged equivalent, by the rule that names them."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable, Iterator

from harness import compare
from harness.model import Verdict
from harness.record import Record
from harness.selfcheck.artifacts import answer
from harness.selfcheck.material import Sample
from harness.selfcheck.table import Finding

Change = Callable[[str, random.Random], str]


class Harmless(Record, frozen=True):
    """A change that ``rule`` names; made to a whole text."""

    kind: str
    rule: str
    change: Change


def _renamed(pattern: str, name: str) -> Change:
    """Every name that ``pattern`` matches (its number in group 1) becomes another: ``name`` with
    a number, shuffled."""
    place = re.compile(pattern)

    def change(text: str, choice: random.Random) -> str:
        found = sorted(set(place.findall(text)))
        numbers = list(range(1000, 1000 + len(found)))
        choice.shuffle(numbers)
        table = dict(zip(found, numbers, strict=True))
        return place.sub(lambda match: name.format(table[match[1]]), text)

    return change


def _put(pattern: str, new: str, most: int = 0) -> Change:
    """Matches of ``pattern``, at most ``most`` if that is not 0, become ``new``."""
    place = re.compile(pattern, re.MULTILINE)
    return lambda text, choice: place.sub(new, text, count=most)


def _constants_swapped(text: str, choice: random.Random) -> str:
    lines = text.split("\n")
    constant = re.compile(r"\s*%\S+ = arith\.constant ")
    places = [
        i
        for i in range(len(lines) - 1)
        if constant.match(lines[i]) and constant.match(lines[i + 1])
    ]
    if places:
        i = choice.choice(places)
        lines[i], lines[i + 1] = lines[i + 1], lines[i]
    return "\n".join(lines)


def _keys_reversed(text: str, choice: random.Random) -> str:
    return json.dumps(dict(reversed(json.loads(text).items())), indent=3)


def _no_cluster(text: str, choice: random.Random) -> str:
    record = json.loads(text)
    dims = record.get("cluster_dims", ())
    if dims in (None, [1, 1, 1]):
        record["cluster_dims"] = None if dims else [1, 1, 1]
    return json.dumps(record, sort_keys=True, indent=1)


_MLIR = (
    Harmless("names of values", "mlir.ssa-names", _renamed(r"%([\w$.-]+)", "%v{}")),
    Harmless(
        "names of layouts", "mlir.alias-names", _renamed(r"(?<=#)([a-z_]+\d*)\b(?!\.)", "l{}")
    ),
    Harmless("order of constants", "mlir.constant-order", _constants_swapped),
    Harmless("locations", "mlir.debug-locations", _put(r"^( +tt\.\w+ .*[^{])$", r"\1 loc(#loc7)")),
    Harmless(
        "locations written out",
        "mlir.debug-locations",
        _put(r"^( +%\S+ = arith\.\w+ .*[^{])$", r'\1 loc("at"("/a (b).py":7:9))'),
    ),
)
_LLVM = (
    Harmless(
        "names of values", "llvm.ssa-names", _put(r"(?<![\w@$])%(\d+)\b|^(\d+)(?=:)", r"%v\1\2")
    ),
    Harmless("numbers of metadata", "llvm.metadata-numbers", _renamed(r"!(\d+)\b", "!{}")),
    Harmless("numbers of attributes", "llvm.attribute-groups", _renamed(r"#(\d+)\b", "#{}")),
    Harmless("comments", "llvm.comments", _put(r"^(  [a-z].*)$", r"\1 ; planted", 3)),
    Harmless("source name", "llvm.source-filename", _put(r"^", 'source_filename = "planted"\n', 1)),
    Harmless("locations", "llvm.debug-info", _put(r", !dbg !\d+", "", 3)),
)
_PTX = (
    Harmless("numbers of registers", "ptx.registers", _renamed(r"%r(\d+)\b", "%r{}")),
    Harmless("numbers of predicates", "ptx.registers", _renamed(r"%p(\d+)\b", "%p{}")),
    Harmless("numbers of labels", "ptx.labels", _renamed(r"\$L__BB0_(\d+)", "$L__BB0_{}")),
    Harmless("version", "ptx.version", _put(r"^\.version \S+", ".version 7.0")),
    Harmless("locations", "ptx.debug-info", _put(r"^(\s*\.loc\s+\d+) \d+", r"\1 4711", 4)),
    Harmless("comments", "ptx.comments", _put(r"^(\s+mov\..*;)$", r"\1 // planted", 3)),
)
_GCN = (
    Harmless("numbers of labels", "amdgcn.labels", _renamed(r"\.LBB0_(\d+)", ".LBB0_{}")),
    Harmless("name of the compiler", "amdgcn.ident", _put(r'\.ident\s+".*"', '.ident "planted"')),
    Harmless("locations", "amdgcn.debug-info", _put(r"^(\s*\.loc\s+\d+) \d+", r"\1 4711", 4)),
    Harmless("comments", "amdgcn.comments", _put(r"^(\s+s_\w+ .*)$", r"\1 ; planted", 3)),
)
_SASS = (
    Harmless("numbers of labels", "sass.labels", _renamed(r"\.L_x_(\d+)", ".L_x_{}")),
    Harmless(
        "lines", "sass.debug-info", _put(r"^(\s+/\*0000\*/)", '\t//## File "/a.py", line 7\n\\1', 1)
    ),
)
_METADATA = (
    Harmless("order of keys", "metadata.formatting", _keys_reversed),
    Harmless("no cluster", "metadata.cluster-dims", _no_cluster),
)
HARMLESS = {
    "ttir": _MLIR,
    "ttgir": _MLIR,
    "llir": _LLVM,
    "ptx": _PTX,
    "amdgcn": _GCN,
    "sass": _SASS,
    "metadata": _METADATA,
}
"""By stage."""


def plant_benign(samples: Iterable[Sample]) -> Iterator[Finding]:
    """Make every harmless change in every text that has a place for it."""
    for sample in samples:
        for harmless in HARMLESS.get(sample.stage, ()):
            choice = random.Random(f"{sample.name} {harmless.kind}")
            planted = harmless.change(sample.data.decode(), choice).encode()
            if planted != sample.data:
                yield _judge(sample, harmless, planted)


def _judge(sample: Sample, harmless: Harmless, planted: bytes) -> Finding:
    found = compare.compare(sample.stage, sample.data, planted)
    return Finding(
        group=f"benign: {sample.stage}",
        kind=harmless.kind,
        subject=sample.name,
        what=harmless.kind,
        caught=found.raw is Verdict.DIFFERENT,
        located=harmless.rule in found.rules,
        benign=True,
        flagged=found.verdict is not Verdict.EQUIVALENT,
        answer=answer(found),
    )
