"""``tlx-equiv pin``: move the pins to the newest releases, and what that would mean."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from harness import judge, night
from harness.changes import changes
from harness.cli import nightly, options, runs
from harness.cli.ledger import differences
from harness.compile import default_jobs
from harness.errors import HarnessError
from harness.history import History
from harness.result import Run
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
        versions = ", ".join(f"{name} {v}" for name, v in published.versions.items())
        console.print(f"the pins are the newest: {versions}")
        if json:
            options.print_json({"versions": published.versions, "edits": {}})
        return
    pair = [text for text in overrides if text.partition("=")[0] in nightly.ROLES]
    arguments = [word for text in pair for word in ("--toolchain", text)]
    command = shlex.join(["tlx-equiv", "run", *arguments])
    opening = options.opening(options.open_store(store), overrides=pair)
    with opening.session(options.open_ledger(found)) as session:
        record = runs.execute(session, found, cases, jobs, command)
    edits = [] if record.void else _edits(published, record)
    if not dry_run:
        pins.rewrite(edits)
    this = night.night_of(record, night.PINNED, judge.exit_status(record), arguments)
    with History(options.history_file(history)) as past:
        changed = changes(this, past.nights(this.series))
    needed = ledger_changes(record)
    if json:
        options.print_json(
            {
                "versions": published.versions,
                "edits": {edit.name: edit.difference for edit in edits},
                "rewritten": not dry_run,
                "changes": changed,
                "ledger": needed,
                "ledger_problems": record.ledger_problems,
            }
        )
    else:
        for edit in edits:
            console.print(f"{edit.name} {'would change' if dry_run else 'is rewritten'}:")
            console.print(Text(edit.difference), end="")
        for line in (*nightly.told(changed), *told(record, needed)):
            console.print(line)
    raise typer.Exit(judge.exit_status(record))


def _edits(published: Newest, run: Run) -> list[pins.Edit]:
    """The files of ``plugins/`` that change: locks, and descriptors of what is loaded now."""
    found = []
    for role in declared().roles.values():
        found.append(pins.lock(role, published.versions))
        proofs = run.toolchains[role.name].plugins if role.name in run.toolchains else ()
        for descriptor in role.plugins:
            proof = next(p for p in proofs if p.library == descriptor.library)
            found.append(pins.described(descriptor, proof))
    return [edit for edit in found if edit.before != edit.after]


def ledger_changes(run: Run) -> dict[str, dict[str, dict[str, str]]]:
    """Fingerprints that the ledger lacks: by entry (``""`` if it has none that is near), stage
    and fingerprint, the first case that shows it."""
    needed: dict[str, dict[str, dict[str, str]]] = {}
    for result in run.results:
        near = {judgement.stage: judgement.expectation for judgement in result.judgements}
        for stage, fingerprint in differences(result):
            stages = needed.setdefault(near[stage], {})
            stages.setdefault(stage, {}).setdefault(fingerprint, result.case.id)
    return needed


def told(run: Run, needed: dict[str, dict[str, dict[str, str]]]) -> list[Text]:
    """The ledger's side of it, in the terminal."""
    if not needed and not run.ledger_problems:
        return [Text("the ledger holds as it is", "green")]
    lines = [Text("The ledger would need", "bold")]
    for entry, stages in sorted(needed.items()):
        lines.append(Text(f"  {f'in entry {entry}' if entry else 'in new entries'}:"))
        for stage, fingerprints in stages.items():
            count = len(fingerprints)
            first, case = next(iter(fingerprints.items()))
            more = f" and {count - 1} more" if count > 1 else ""
            lines.append(Text(f"    {stage}: {first}{more}, as in {case}"))
    for problem in run.ledger_problems:
        lines.append(Text(f"  {problem.kind} {problem.expectation}: {problem.message}"))
    return lines
