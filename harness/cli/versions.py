"""``tlx-equiv matrix`` and ``bisect``: the same question over many published versions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness import matrix as matrices
from harness import survey
from harness.bisect import bisect as search
from harness.cli import options
from harness.errors import HarnessError
from harness.matrix import Matrix
from harness.model import Case, CaseResult
from harness.toolchains import controls, declared, ensure
from harness.toolchains.published import override, published, subject
from reports import write_matrix

PROBES = (
    "async_copy/ring_copy/fp32-3x128@cuda:90",
    "dots/pipelined_gemm/fp16-128x128x64-w4-b3@cuda:90",
    "tma/store_ring/fp16-64x64-b3-p1@cuda:90",
    "warp_specialisation/two_tasks/fp32-256-w4-p4@cuda:90",
    "memory/quadrant_sum/i32-i32-32x64@cuda:90",
    "utilities/fp8_unpack/fp8e5-fp16-w8@cuda:90",
    "memory/aliased_buffer/fp16-64x64-w4@hip:gfx942",
    "baseline/vector_add/fp32-1024-w4@cuda:90",
)
_NEWEST = 12  # of each side, unless versions are named
_MARKS = {"identical": "=", "equivalent": "~", "different": "x", "refused": "r", "fails": "!"}
_STYLES = {"=": "green", "~": "cyan", "x": "red", "r": "dim", "!": "bold red"}
_Versions = Annotated[str | None, typer.Option(metavar="V,...", help="These versions.")]


def matrix(
    patterns: options.Patterns = None,
    fork: _Versions = None,
    plugin: Annotated[
        str | None,
        typer.Option(metavar="V,...", help="These; V:T names the Triton it is to run on too."),
    ] = None,
    upstream: _Versions = None,
    corpus: options.CorpusDirs = None,
    lane: options.Lane = "controlled",
    out: Annotated[Path, typer.Option(help="Where matrix.json and matrix.html go.")] = Path(
        "build/matrix"
    ),
    store: options.StoreDir = None,
    json: options.Json = False,
) -> None:
    """Which versions of fork, upstream and plugin load, compile and are identical, in pairs.

    The cases are a few probes unless named. Versions are the newest published ones unless named;
    an empty text leaves a side out. What an earlier matrix in the same folder measured is kept.
    """
    cases = options.open_corpus(corpus).select(patterns or PROBES)
    if not cases:
        raise HarnessError("probes", "no case matches", "see `tlx-equiv cases`")
    given = {"fork": fork, "plugin": plugin, "upstream": upstream}
    pins = {role: _versions(role, text) for role, text in given.items()}
    kept = options.open_store(store)
    known = matrices.load(out / matrices.FILE)
    console = Console(stderr=True)
    with console.status("...") as status:
        found = survey.measure(
            [("fork", version) for version in pins["fork"]],
            [(role, version) for role in ("plugin", "upstream") for version in pins[role]],
            cases,
            controls(lane, {"plugin": ensure("plugin")}),
            kept,
            [*known.references, *known.candidates] if known else [],
            lambda words: status.update(f"{words} ..."),
            lambda sofar: _save(sofar, out),
        )
    if json:
        options.print_json(found)
        return
    _print(found)
    print(f"matrix: {out / matrices.FILE}; page: {write_matrix(found, out)}")


def _versions(role: str, text: str | None) -> list[str]:
    if text is None:
        return published(subject(declared().role(role)))[-_NEWEST:]
    return [part.strip() for part in text.split(",") if part.strip()]


def _save(found: Matrix, out: Path) -> None:
    path = out / matrices.FILE
    try:
        out.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".tmp")
        temporary.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1))
        temporary.replace(path)
    except OSError as error:
        cause = f"cannot be written: {error.strerror or error}"
        raise HarnessError(str(path), cause, "give a writable folder with --out DIR") from error


def _print(found: Matrix) -> None:
    console = Console()
    usable = [(i, pin) for i, pin in enumerate(found.references) if not pin.problem]
    table = Table(title="each probe's binary: = identical, ~ by rules, x different, r refused by"
                  " both, ! one side fails")  # fmt: skip
    table.add_column("")
    for _, pin in usable:
        table.add_column(pin.name, overflow="fold")
    cells = {(cell.reference, cell.candidate): cell for cell in found.cells}
    for column, pin in enumerate(found.candidates):
        if pin.problem:
            continue
        line = []
        for row, _ in usable:
            marks = [_MARKS[probe.level] for probe in cells[row, column].probes]
            line.append(Text.assemble(*((mark, _STYLES[mark]) for mark in marks)))
        table.add_row(pin.name, *line)
    console.print(table)
    for pin in (*found.references, *found.candidates):
        if pin.problem:
            console.print(Text(f"{pin.name}: {pin.problem}", "red"), soft_wrap=True)


class Step(msgspec.Struct, frozen=True):
    """One version that was tried: what the case showed, or why it shows nothing."""

    version: str
    verdicts: dict[str, str] = {}
    problem: str = ""


def bisect(
    case: Annotated[str, typer.Argument(metavar="CASE", help="The id of a case.")],
    over: Annotated[str, typer.Option(help="Whose versions: plugin, fork or upstream.")],
    first: Annotated[str | None, typer.Option("--from", help="The oldest to consider.")] = None,
    last: Annotated[str | None, typer.Option("--to", help="The newest to consider.")] = None,
    corpus: options.CorpusDirs = None,
    lane: options.Lane = "controlled",
    store: options.StoreDir = None,
    json: options.Json = False,
) -> None:
    """Find the published version of one side at which a case's verdict changed.

    The verdict is the outcome, the verdict of each stage and what differs there. Versions that
    do not load are skipped. Exit status 1 if no change was found.
    """
    found = options.open_corpus(corpus)
    chosen = found.select([case])
    if len(chosen) != 1:
        cause = f"{len(chosen)} cases match, not one"
        raise HarnessError(f"case {case}", cause, "see `tlx-equiv cases`")
    role = declared().role(over)
    versions = _between(published(subject(role)), first, last)
    steps: dict[int, Step] = {}
    console = Console(stderr=True)
    with console.status("...") as status:

        def verdict(at: int) -> tuple[str, ...] | None:
            status.update(f"{over} {versions[at]} ...")
            steps[at], shown = _tried(chosen[0], over, versions[at])
            return shown

        def _tried(one: Case, role_name: str, version: str) -> tuple[Step, tuple[str, ...] | None]:
            given = f"{role_name}={override(role, version)}"
            sides = "fork:upstream" if role_name == "upstream" else options.SIDES
            try:
                with options.open_session(
                    found, options.open_store(store), lane, [given], explaining=False, sides=sides
                ) as session:
                    if session.void:
                        return Step(version, problem=session.void), None
                    result = session.evaluate(one)
            except HarnessError as error:
                return Step(version, problem=f"{error.thing}: {error.cause}"), None
            return Step(version, _verdicts(result)), _signature(result)

        boundary = search(len(versions), verdict)
    tried = [steps[at] for at in sorted(steps)]
    if json:
        pair = [versions[boundary.before], versions[boundary.after]] if boundary else None
        options.print_json({"case": chosen[0].id, "over": over, "changed": pair, "tried": tried})
    else:
        _tell(chosen[0].id, over, tried)
        if boundary is None:
            print(f"no change between {versions[0]} and {versions[-1]}")
        else:
            skipped = ", ".join(versions[at] for at in boundary.skipped)
            print(f"changed in {over} {versions[boundary.after]}, against"
                  f" {versions[boundary.before]}"
                  + (f"; between them, not usable: {skipped}" if skipped else ""))  # fmt: skip
    if boundary is None:
        raise typer.Exit(1)


def _between(versions: Sequence[str], first: str | None, last: str | None) -> list[str]:
    for given in (first, last):
        if given is not None and given not in versions:
            raise HarnessError(
                f"version {given}",
                "is not published for this machine",
                f"one of {', '.join(versions)}",
            )
    start = versions.index(first) if first else 0
    end = versions.index(last) + 1 if last else len(versions)
    if start >= end:
        raise HarnessError(f"--from {first} --to {last}", "the wrong way round", "swap them")
    return list(versions[start:end])


def _verdicts(result: CaseResult) -> dict[str, str]:
    if not result.comparisons or result.outcome != "OK":
        return {"outcome": result.outcome}
    return {each.stage: each.verdict.value for each in result.comparisons}


def _signature(result: CaseResult) -> tuple[str, ...]:
    return (
        result.outcome,
        result.outcome_fingerprint,
        *(f"{each.stage} {each.verdict.value} {each.fingerprint}" for each in result.comparisons),
    )


def _tell(case: str, over: str, tried: Sequence[Step]) -> None:
    table = Table(title=case)
    for name in (over, "what the case shows"):
        table.add_column(name, overflow="fold")
    for step in tried:
        shown = ", ".join(f"{stage} {verdict}" for stage, verdict in step.verdicts.items())
        table.add_row(step.version, Text(step.problem, "red") if step.problem else shown)
    Console().print(table)
