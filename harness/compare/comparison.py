"""One artifact of one stage, the two sides against each other."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Collection, Iterator, Sequence

from harness.compare import asm, elf, llvm, metadata, mlir, sass
from harness.compare.elfview import byte_rows
from harness.compare.locate import Disassemble, elf_hunks, limited, text_hunks
from harness.compare.rules import Rule, apply_rules, rules_for, smallest_sufficient
from harness.compare.text import NOTHING, CannotParse, Format, Text
from harness.compare.textdiff import Difference
from harness.errors import HarnessError
from harness.model import Comparison, Hunk, Verdict

_FORMATS = {
    stage: each
    for each in (
        mlir.FORMAT,
        llvm.FORMAT,
        asm.PTX,
        asm.AMDGCN,
        elf.FORMAT,
        sass.FORMAT,
        metadata.FORMAT,
    )
    for stage in each.stages
}
_LONG = 20_000  # lines of a form, which is then some MB
_SIDES = ("reference (left)", "candidate (right)")
_HUNKS = 50


def compare(
    stage: str,
    left: bytes | None,
    right: bytes | None,
    disassemble: Disassemble | None = None,
    without: Collection[str] = (),
) -> Comparison:
    """Compare the reference's artifact of ``stage`` with the candidate's.

    ``None`` (or no bytes) is a stage that a side did not produce, and equal to nothing.
    ``disassemble`` turns a cubin into the text of ``nvdisasm -hex``; with it a cubin's code is
    shown as instructions, and the stage ``sass`` may be given as cubins. Rules named in
    ``without`` are not used. Raises HarnessError for an unknown stage.
    """
    _format(stage)
    if not left or not right:
        return _missing(stage, (left, right))
    if stage == "sass" and disassemble:
        left, right = _disassembled(left, disassemble), _disassembled(right, disassemble)
    if left == right and stage != "sass":
        return Comparison(stage, Verdict.IDENTICAL, Verdict.IDENTICAL)
    try:
        loaded = _load(stage, left, right)  # refuses SASS that leaves control codes out
        if left == right:
            return Comparison(stage, Verdict.IDENTICAL, Verdict.IDENTICAL)
        forms, rules = _normalise_both(stage, loaded, without)
    except CannotParse as error:
        return _unparsed(stage, (left, right), str(error))
    if forms[0].lines == forms[1].lines:
        names = tuple(each.name for each in smallest_sufficient(*loaded, rules))
        return Comparison(stage, Verdict.DIFFERENT, Verdict.EQUIVALENT, names)
    difference = _difference(stage, forms)
    found, total = limited(_all_hunks(stage, (left, right), forms, difference, disassemble), _HUNKS)
    return Comparison(
        stage,
        Verdict.DIFFERENT,
        Verdict.DIFFERENT,
        fingerprint=difference.fingerprint(),
        hunks=found,
        hunks_total=total,
    )


def normalise(stage: str, data: bytes, rules: Sequence[Rule] | None = None) -> Text:
    """The normal form of an artifact after ``rules`` (all rules of the stage if None).

    Raises CannotParse when the artifact, or a rule's input, is not what it should be.
    """
    form = _format(stage).load(data)
    return apply_rules(form, rules_for(stage) if rules is None else rules)[0]


@functools.lru_cache(maxsize=8)
def difference_size(stage: str, left: bytes, right: bytes) -> int:
    """How many lines differ after all rules; a changed line counts once.

    Where a rule cannot parse its input, the lines of the artifacts as they are. Along a trace
    most passes change nothing, so the last answers are kept.
    """
    if left == right:
        return 0
    try:
        forms, _ = _normalise_both(stage, _load(stage, left, right))
    except CannotParse:
        return Difference(_raw(left).lines, _raw(right).lines, NOTHING).size
    return 0 if forms[0].lines == forms[1].lines else _difference(stage, forms).size


def equivalent(stage: str, left: bytes, right: bytes) -> bool:
    """Whether two artifacts are equal after all rules: what ``compare`` says, and no more.

    Where a rule cannot parse its input nothing is known to be equal.
    """
    if left == right:
        return True
    try:
        forms, _ = _normalise_both(stage, _load(stage, left, right))
    except CannotParse:
        return False
    return forms[0].lines == forms[1].lines


def hunks(
    stage: str,
    left: bytes,
    right: bytes,
    limit: int = _HUNKS,
    disassemble: Disassemble | None = None,
) -> tuple[tuple[Hunk, ...], int]:
    """The first ``limit`` regions that differ after all rules, and how many there are in all."""
    if stage == "sass" and disassemble:
        left, right = _disassembled(left, disassemble), _disassembled(right, disassemble)
    try:
        forms, _ = _normalise_both(stage, _load(stage, left, right))
    except CannotParse:
        return limited(_raw_hunks(left, right), limit)
    difference = _difference(stage, forms)
    return limited(_all_hunks(stage, (left, right), forms, difference, disassemble), limit)


# --- forms --------------------------------------------------------------------------------

Pair = tuple[Text, Text]


def _format(stage: str) -> Format:
    try:
        return _FORMATS[stage]
    except KeyError:
        raise HarnessError(
            f"stage {stage!r}",
            "no artifact format of that name is known",
            f"one of {', '.join(_FORMATS)}",
        ) from None


def _disassembled(data: bytes, disassemble: Disassemble) -> bytes:
    return disassemble(data).encode() if data.startswith(b"\x7fELF") else data


def _load(stage: str, left: bytes, right: bytes) -> Pair:
    load = _format(stage).load
    return _on_side(0, load, left), _on_side(1, load, right)


def _on_side(side: int, load: Callable[[bytes], Text], data: bytes) -> Text:
    try:
        return load(data)
    except CannotParse as error:
        raise CannotParse(f"the {_SIDES[side]}: {error}") from error


def _normalise_both(
    stage: str, loaded: Pair, without: Collection[str] = ()
) -> tuple[Pair, tuple[Rule, ...]]:
    """Both forms after all rules of the stage, and the rules that changed either."""
    done: list[Text] = []
    changed: set[str] = set()
    unused = frozenset(without).union(_format(stage).contradicted(*loaded))
    for side, form in enumerate(loaded):
        try:
            after, which = _normal_form(stage, form, unused)
        except CannotParse as error:
            raise CannotParse(f"the {_SIDES[side]}: {error}") from error
        done.append(after)
        changed.update(each.name for each in which)
    return (done[0], done[1]), tuple(each for each in rules_for(stage) if each.name in changed)


def _normal_form(stage: str, form: Text, without: frozenset[str]) -> tuple[Text, tuple[Rule, ...]]:
    """``apply_rules`` with all rules of the stage but those ``without``; along a trace a side's
    IR is compared several times, so the last answers are kept (unless they are large)."""
    known = _remembered if len(form.lines) <= _LONG else _remembered.__wrapped__
    return known(stage, form, without)


@functools.lru_cache(maxsize=64)
def _remembered(stage: str, form: Text, without: frozenset[str]) -> tuple[Text, tuple[Rule, ...]]:
    return apply_rules(form, [each for each in rules_for(stage) if each.name not in without])


def _difference(stage: str, forms: Pair) -> Difference:
    return Difference(forms[0].lines, forms[1].lines, _format(stage).volatile)


# --- verdicts without a comparison ----------------------------------------------------------


def _missing(stage: str, sides: tuple[bytes | None, bytes | None]) -> Comparison:
    absent = [name for name, data in zip(_SIDES, sides, strict=True) if not data]
    note = f"not produced by the {' and the '.join(absent)}"
    return Comparison(
        stage, Verdict.DIFFERENT, Verdict.DIFFERENT, fingerprint=_digest(note.encode()), note=note
    )


def _unparsed(stage: str, sides: tuple[bytes, bytes], note: str) -> Comparison:
    """Nothing is known to be equal; the fingerprint is that of the artifacts as they are."""
    found, total = limited(_raw_hunks(*sides), _HUNKS)
    return Comparison(
        stage,
        Verdict.DIFFERENT,
        Verdict.DIFFERENT,
        fingerprint=_digest(b"".join(hashlib.sha256(each).digest() for each in sides)),
        note=f"could not be normalised: {note}",
        hunks=found,
        hunks_total=total,
    )


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _raw(data: bytes) -> Text:
    """Lines of text, or rows of 16 bytes of what is not text."""
    try:
        return Text.decode(data)
    except CannotParse:
        return byte_rows(data)


def _raw_hunks(left: bytes, right: bytes) -> Iterator[Hunk]:
    forms = _raw(left), _raw(right)
    difference = Difference(forms[0].lines, forms[1].lines, NOTHING)
    return text_hunks(forms, lambda lines: [""] * len(lines), difference)


def _all_hunks(
    stage: str,
    sides: tuple[bytes, bytes],
    forms: Pair,
    difference: Difference,
    disassemble: Disassemble | None,
) -> Iterator[Hunk]:
    if stage in elf.STAGES:
        return elf_hunks(sides, forms, difference, disassemble)
    return text_hunks(forms, _format(stage).regions, difference)
