"""``tlx-equiv nightly``: run, record, say what changed, and write what CI takes."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.text import Text

from harness import judge, night, trend
from harness import run as engine
from harness.change import Alike, Changes, alike, headline
from harness.cli import options, runs, selfcheck
from harness.compile import default_jobs
from harness.corpus import Corpus
from harness.errors import HarnessError
from harness.history import History
from harness.model import Case
from harness.result import Run
from harness.selfcheck import document, misses, rows
from harness.store import Store
from harness.toolchains import declared, newest
from reports import Channel, write_night, write_report

NIGHTS = 60  # that trends show, and that times are compared with
_SHOWN = 40
_NAMED = 6
ROLES = tuple(options.SIDES.split(":"))


def nightly(
    patterns: options.Patterns = None,
    corpus: options.CorpusDirs = None,
    target: options.Targets = None,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=1, help="Compilations at once.")
    ] = default_jobs(),
    lane: options.Lane = "controlled",
    toolchain: options.Overrides = None,
    canary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE=WHERE",
            help="As --toolchain, for the canary pair [default: the newest on the index].",
        ),
    ] = None,
    skip_canary: Annotated[
        bool, typer.Option("--skip-canary", help="Run the pinned pair only.")
    ] = False,
    skip_selfcheck: Annotated[
        bool, typer.Option("--skip-selfcheck", help="Do not check the checker.")
    ] = False,
    run: Annotated[
        Path | None,
        typer.Option(
            help="Take this run as the pinned pair's (shards merged, a GPU's results joined)"
            " instead of making one."
        ),
    ] = None,
    history: options.HistoryFile = None,
    out: Annotated[Path, typer.Option(help="The folder to upload.")] = Path("build/nightly"),
    store: options.StoreDir = None,
    json: options.Json = False,
) -> None:
    """Run the pinned pair and the newest releases, and say what changed since last time.

    What is unexpected in the pinned pair gives exit status 1; in the canary it is a warning. A
    self-check that misses a planted difference gives 2.
    """
    found = options.open_corpus(corpus)
    chosen = found.select(patterns or (), target or ())
    job = _Job(found, chosen, jobs, lane, options.open_store(store), out, corpus or ())
    with History(options.history_file(history)) as past:
        record = engine.load(run) if run else job.made(toolchain or (), "nightly")
        channels = [job.recorded(night.PINNED, record, past, job.arguments(toolchain or ()))]
        warnings: list[str] = []
        if not skip_canary:
            overrides, warnings = _newest(canary, toolchain)
            if overrides is not None:
                try:
                    newer = job.made(overrides, "run")
                    arguments = job.arguments(overrides)
                    channels.append(job.recorded(night.CANARY, newer, past, arguments))
                except HarnessError as error:
                    warnings.append(f"the canary could not be run: {error.thing}: {error.cause}")
    status = judge.exit_status(record)
    if not skip_selfcheck:
        failed = selfchecked(jobs, store, out)
        warnings += failed
        status = 2 if failed else status
    warnings += [_warning(channel) for channel in channels[1:] if _warning(channel)]
    write_night(channels, warnings, out)
    if json:
        changes = [channel.history.changes for channel in channels]
        options.print_json({"channels": changes, "warnings": warnings, "folder": str(out)})
    else:
        _print(channels, warnings, out)
    raise typer.Exit(status)


class _Job(msgspec.Struct, frozen=True):
    """What both pairs of a night have in common."""

    corpus: Corpus
    cases: Sequence[Case]
    jobs: int
    lane: str
    store: Store
    out: Path
    folders: Sequence[Path]

    def made(self, overrides: Sequence[str], command: str) -> Run:
        """Run the cases through the pair that ``overrides`` make of the pins."""
        opening = options.opening(self.store, self.lane, overrides)
        words = sys.argv[1:] if command == "nightly" else [command, *self.arguments(overrides)]
        with opening.session(options.open_ledger(self.corpus)) as session:
            return runs.execute(
                session, self.corpus, self.cases, self.jobs, shlex.join(["tlx-equiv", *words])
            )

    def arguments(self, overrides: Sequence[str]) -> list[str]:
        """The options with which ``tlx-equiv run`` does the same."""
        found = [word for folder in self.folders for word in ("--corpus", str(folder))]
        return [*found, *options.opening(self.store, self.lane, overrides).arguments()]

    def recorded(
        self, channel: str, record: Run, past: History, arguments: Sequence[str]
    ) -> Channel:
        """Save the run, record it, and report it with what history says of it."""
        folder = self.out / channel
        engine.save(record, folder)
        this = night.night_of(record, channel, judge.exit_status(record), arguments)
        past.record(this)
        known = trend.export(this, past.nights(this.series, this.started, NIGHTS))
        trend.save(known, folder)
        write_report(record, self.store, folder / "report", known)
        return Channel(channel, record, known, gating=channel == night.PINNED)


def _newest(
    given: Sequence[str] | None, pinned: Sequence[str] | None
) -> tuple[list[str] | None, list[str]]:
    """The overrides of the canary pair, None if it would be the pinned pair; and warnings."""
    if given:
        return list(given), []
    try:
        published = newest(declared())
    except HarnessError as error:
        return None, [f"no canary: {error.thing}: {error.cause}"]
    overrides = [
        f"{role}={override}"
        for role in ROLES
        if (override := published.override(declared().role(role)))
    ]
    same = options.parse_overrides(overrides) == options.parse_overrides(pinned)
    warnings = [
        f"{name} {version} is published, but the newest plugin allows only"
        f" {name} {published.versions[name]}"
        for name, version in published.beyond.items()
    ]
    return (None if same else overrides), warnings


def _warning(channel: Channel) -> str:
    """What the canary warns of; empty if it found nothing unexpected."""
    if channel.run.void:
        return f"the {channel.name} is void: {channel.run.void}"
    bad = sum(result.status() in night.UNEXPECTED for result in channel.run.results)
    return f"the {channel.name} has {bad} cases that are not as expected" if bad else ""


def selfchecked(jobs: int, store: Path | None, out: Path) -> list[str]:
    """Check the checker and write its table; why its verdicts are not to be trusted, if so."""
    try:
        found, identities = selfcheck.planted(None, False, jobs, store)
        selfcheck.save(out / "selfcheck.md", document.write(rows(found), identities))
    except HarnessError as error:
        return [f"the self-check could not be run: {error.thing}: {error.cause}"]
    missed = misses(found)
    if not missed:
        return []
    such = missed[0]
    return [
        f"the self-check failed: of {len(found)} planted differences {len(missed)} are not as they"
        f" must be, such as {such.group}, {such.kind}: {such.what}"
    ]


# --- the terminal ---------------------------------------------------------------------------


def _print(channels: Sequence[Channel], warnings: Sequence[str], out: Path) -> None:
    console = Console(soft_wrap=True, highlight=False)
    for channel in channels:
        for line in told(channel.history.changes):
            console.print(line)
    if len(channels) == 1:
        console.print("canary: not run")
    for text in warnings:
        console.print(Text(f"WARNING {text}", "yellow"))
    console.print()
    for line in runs.summary(channels[0].run):
        console.print(line)
    for channel in channels:
        console.print(f"{channel.name}: {out / channel.name / 'report' / 'index.html'}")
    console.print(f"to upload: {out}")


def told(changes: Changes) -> list[Text]:
    """What changed, in the terminal: one block per change, nothing else."""
    style = "bold red" if changes.alarming or changes.void else "bold"
    lines = [Text(f"{changes.channel}: {headline(changes)}", style)]
    lines += [Text(f"  {t.role}: {t.before} -> {t.after}") for t in changes.toolchains]
    groups = alike(changes.changes)
    for group in groups[:_SHOWN]:
        lines += _told(group, told_already=bool(changes.toolchains))
    if len(groups) > _SHOWN:
        lines.append(Text(f"  ... {len(groups) - _SHOWN} more kinds in changes.json"))
    if changes.pending:
        such = changes.pending[0]
        lines.append(Text(f"  unexpected as before: {len(changes.pending)} cases, such as {such}"))
    return lines


def _told(group: Alike, told_already: bool) -> list[Text]:
    change = group.change
    at = f" {', '.join(change.stages)}" if change.stages else ""
    words = f"{change.before} -> {change.after}" if change.before else change.after
    style = "red" if change.unexpected else ""
    lines = [Text(f"  {change.kind.upper()} {change.case}{at}: {words}", style)]
    if len(group.cases) > 1:
        such = ", ".join(group.cases[1 : 1 + _NAMED])
        more = ", ..." if len(group.cases) > 1 + _NAMED else ""
        lines.append(Text(f"      and {len(group.cases) - 1} more of this cause: {such}{more}"))
    whose = [change.attribution, f"moved: {' and '.join(change.moved)}" if change.moved else ""]
    whose += [] if told_already else change.because
    if any(whose):
        lines.append(Text(f"      {'; '.join(filter(None, whose))}"))
    return lines + [Text(f"      {command}", "dim") for command in (change.command, *change.bisect)]
