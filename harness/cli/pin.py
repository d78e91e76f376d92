"""``tlx-equiv pin``: move the pins to the newest releases, and what that would mean."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from harness import judge, night
from harness.changes import changes
from harness.cli import nightly, options, runs
from harness.compile import default_jobs
from harness.errors import HarnessError
from harness.history import History
from harness.model import CaseResult, Run, Status
from harness.toolchains import Newest, declared, newest, pins


def pin(
    patterns: options.Patterns = None,
    latest: Annotated[
        bool, typer.Option("--latest", help="Move to the newest releases on the index.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Rewrite nothing; show what would be.")
    ] = False,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=1, help="Compilations at once.")
    ] = default_jobs(),
    corpus: options.CorpusDirs = None,
    history: options.HistoryFile = None,
    store: options.StoreDir = None,
    json: options.Json = False,
) -> None:
    """Rewrite the pins with hashes, run with them, and show the ledger changes they need.

    Exit status 0 if the ledger still holds, 1 if it needs changes.
    """
    if not latest:
        raise HarnessError("pin", "nothing to move the pins to", "write tlx-equiv pin --latest")
    found = options.open_corpus(corpus)
    cases = found.select(patterns or (), ())
    console = Console(stderr=json, soft_wrap=True, highlight=False)
    published = newest(declared())
    overrides = [
        f"{name}={override}"
        for name, role in declared().roles.items()
        if (override := published.override(role))
    ]
    if not overrides:
        console.print(f"the pins are the newest: {_words(published)}")
        if json:
            options.print_json({"versions": published.versions, "rewritten": []})
        return
    pair = [text for text in overrides if text.partition("=")[0] in nightly.ROLES]
    command = shlex.join(["tlx-equiv", "run", *(w for text in pair for w in ("--toolchain", text))])
    with options.open_session(found, options.open_store(store), "controlled", pair) as session:
        record = runs.execute(session, found, cases, jobs, command)
    texts = _texts(published, record)
    if not dry_run and not record.void:
        pins.rewrite(texts)
    this = night.night_of(record, night.PINNED, judge.exit_status(record), command.split()[2:])
    with History(options.history_file(history)) as past:
        changed = changes(this, past.nights(this.series))
    needed = ledger_changes(record)
    if json:
        options.print_json(
            {
                "versions": published.versions,
                "rewritten": [] if dry_run or record.void else sorted(texts),
                "changes": changed,
                "ledger": needed,
                "problems": record.ledger_problems,
            }
        )
    else:
        verb = "would be rewritten" if dry_run or record.void else "rewritten"
        for name, text in texts.items():
            console.print(f"{pins.PLUGINS.name}/{name} {verb}", style="bold")
            before = (pins.PLUGINS / name).read_text() if dry_run or record.void else text
            console.print(Text(pins.difference(name, before, text)), end="")
        for line in nightly.told(changed):
            console.print(line)
        for line in _ledger_lines(record, needed):
            console.print(line)
    raise typer.Exit(judge.exit_status(record))


def ledger_changes(run: Run) -> dict[str, dict[str, list[str]]]:
    """The fingerprints that the ledger lacks: entry, or ``new``, -> stage -> fingerprints with
    the case that shows each first."""
    needed: dict[str, dict[str, list[str]]] = {}
    for result in run.results:
        prints = judge.fingerprints(result)
        for judgement in result.judgements:
            if judgement.status in (Status.NEW, Status.CHANGED):
                stages = needed.setdefault(judgement.expectation or "new", {})
                known = stages.setdefault(judgement.stage, [])
                text = prints.get(judgement.stage, "")
                if text not in [line.partition(" ")[0] for line in known]:
                    known.append(f"{text} {result.case.id}")
    return needed
