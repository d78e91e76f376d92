"""``tlx-equiv expect``: record a reviewed divergence in the ledger."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Annotated

import typer

from harness import corpus as corpora
from harness import judge
from harness import ledger as ledgers
from harness import run as runs
from harness.cli import options
from harness.errors import HarnessError
from harness.result import CaseResult, Status


def expect(
    cases: Annotated[list[str], typer.Argument(help="Case ids or globs, as in `run`.")],
    name: Annotated[str, typer.Option("--id", help="The entry's name; one per cause.")],
    reason: Annotated[str, typer.Option(help="What differs and why that is known.")] = "",
    link: Annotated[str, typer.Option(help="Where it is discussed or its source is.")] = "",
    expires: Annotated[str, typer.Option(help="Date, YYYY-MM-DD, after which it fails.")] = "",
    stage: Annotated[
        list[str] | None,
        typer.Option(help="Only this stage (may be repeated) [default: all that are not equal]."),
    ] = None,
    owner: Annotated[str, typer.Option(help="Who reviews it.")] = "tlx-equiv",
    attribution: Annotated[
        str, typer.Option(help="Whose difference: " + ", ".join(ledgers.ATTRIBUTIONS) + ".")
    ] = "unresolved",
    cost: Annotated[str, typer.Option(help="What it costs a user.")] = "",
    run: options.RunDir = options.OUT,
    ledger: Annotated[
        Path | None, typer.Option(help="The ledger file [default: beside the corpus].")
    ] = None,
) -> None:
    """Accept what the run found in these cases, with its fingerprints, until a date.

    A new entry needs a reason, a link and a date; an entry that exists keeps its own.
    """
    record = runs.load(run)
    if attribution not in ledgers.ATTRIBUTIONS:
        raise HarnessError(
            f"--attribution {attribution}",
            "not an attribution",
            f"use one of {', '.join(ledgers.ATTRIBUTIONS)}",
        )
    hits = [
        result
        for result in record.results
        if any(corpora.matches(result.case.id, pattern) for pattern in cases)
    ]
    found: dict[str, list[str]] = {}
    for result in hits:
        for at, fingerprint in differences(result):
            if (not stage or at in stage) and fingerprint not in found.setdefault(at, []):
                found[at].append(fingerprint)
    if not any(found.values()):
        raise HarnessError(
            f"cases {', '.join(cases)}",
            f"the run in {run} has no unexpected difference there"
            + (f" at {', '.join(stage)}" if stage else ""),
            "run them first, or see `tlx-equiv show CASE`",
        )
    folder = Path(hits[0].case.folder.removesuffix("/" + hits[0].case.kernel))
    path = ledger or folder / corpora.LEDGER
    known = ledgers.read([path], datetime.date.today()).expectations
    old = next((entry for entry in known if entry.id == name), None)
    if old is None and not (reason and link and expires):
        raise HarnessError(
            f"entry {name!r}",
            f"not in {path}, and a new one needs a reason, a link and a date",
            "give --reason, --link and --expires, or the --id of an entry of the same cause",
        )
    entry = ledgers.Expectation(
        id=name,
        cases=tuple(cases),
        reason=reason,
        link=link,
        owner=owner,
        expires=old.expires if old else _date(expires),
        attribution=attribution,
        fingerprints={at: tuple(prints) for at, prints in found.items() if prints},
        cost=cost,
        lane=record.lane,
    )
    existed = ledgers.record(path, entry)
    count = sum(map(len, entry.fingerprints.values()))
    print(f"{'extended' if existed else 'added'} {name} in {path}: {count} fingerprints")


def differences(result: CaseResult) -> list[tuple[str, str]]:
    """What of a case is judged unexpected: stage and fingerprint."""
    prints = {c.stage: c.fingerprint for c in result.comparisons}
    prints["outcome"] = result.outcome_fingerprint
    prints["check"] = judge.checks_fingerprint(result.checks)
    prints |= judge.parity_fingerprints(result.parity)
    return [
        (judgement.stage, prints[judgement.stage])
        for judgement in result.judgements
        if judgement.status in (Status.NEW, Status.CHANGED) and prints.get(judgement.stage)
    ]


def _date(text: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError as error:
        raise HarnessError(f"--expires {text}", str(error), "write YYYY-MM-DD") from error
