"""Options that several commands share, and the objects that they make."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from harness import corpus as corpora
from harness import ledger as ledgers
from harness import run as runs
from harness.corpus import Corpus
from harness.errors import HarnessError
from harness.ledger import Ledger
from harness.opening import Opening
from harness.result import CaseResult, Run
from harness.store import Store
from harness.toolchains import cache_root, declared

Patterns = Annotated[
    list[str] | None,
    typer.Argument(help="Globs on case ids, e.g. 'dots/*@cuda:90'; all cases if none."),
]
CorpusDirs = Annotated[
    list[Path] | None,
    typer.Option("--corpus", help="A folder of kernels; may be given several times."),
]
Targets = Annotated[
    list[str] | None, typer.Option("--target", help="Only this target, e.g. cuda:90.")
]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--toolchain",
        metavar="ROLE=WHERE",
        help="Use another toolchain for a role: a venv, an interpreter, a wheel, a directory"
        " or a requirement, e.g. fork=/path/to/venv or fork=fbtriton==3.7.3.",
    ),
]
Sides = Annotated[
    str,
    typer.Option(
        metavar="REFERENCE:CANDIDATE", help="The two roles to compare, e.g. plugin:plugin."
    ),
]
Plugins = Annotated[
    list[str] | None,
    typer.Option(
        "--plugin",
        "--hook",
        metavar="NAME|FILE",
        help="A plugin that the candidate loads besides: a name in plugins/, a descriptor (.toml),"
        " a library (.so) or a Python file with a stage hook (.py); may be given several times.",
    ),
]
StoreDir = Annotated[
    Path | None, typer.Option("--store", help="Where artifacts are kept [default: the cache].")
]
HistoryFile = Annotated[
    Path | None,
    typer.Option("--history", help="The history file [default: history.sqlite in the cache]."),
]
RunDir = Annotated[Path, typer.Option("--run", help="The run to look at.")]
MatrixFile = Annotated[
    Path, typer.Option("--matrix", metavar="FILE", help="The version matrix's record.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Lane = Annotated[
    str,
    typer.Option(help="'controlled' (same controls on both sides) or 'shipped' (what users get)."),
]
OUT = Path("build/run")
MATRIX = Path("build/matrix.json")
SIDES = "fork:plugin"


def open_store(store: Path | None) -> Store:
    """The store at ``store``, else $TLX_EQUIV_STORE, else in the cache."""
    chosen = store or os.environ.get("TLX_EQUIV_STORE")
    return Store(Path(chosen) if chosen else cache_root() / "store")


def history_file(file: Path | None) -> Path:
    """The history at ``file``, else the one in the cache."""
    return file or cache_root() / "history.sqlite"


def open_corpus(folders: Sequence[Path] | None) -> Corpus:
    """The corpora at ``folders``, else the project's own."""
    return corpora.load(folders or [corpora.DEFAULT])


def open_ledger(corpus: Corpus) -> Ledger:
    """The ledgers that stand beside the corpora."""
    return ledgers.read((root / corpora.LEDGER for root in corpus.roots), datetime.date.today())


def opening(
    store: Store,
    lane: str = "controlled",
    overrides: Sequence[str] | None = None,
    fresh: bool = False,
    explaining: bool = True,
    sides: str = SIDES,
    plugins: Sequence[str] | None = None,
) -> Opening:
    """What the options say of a session: over the two ``sides``, of which the candidate loads
    ``plugins`` besides its own, and is then called after them."""
    roles = sides.split(":")
    if len(roles) != 2:
        raise HarnessError(
            f"--sides {sides}", "not of the form REFERENCE:CANDIDATE", "write fork:plugin"
        )
    return Opening(
        reference=roles[0],
        candidate=roles[1],
        lane=lane,
        store=str(store.root),
        overrides=parse_overrides(overrides),
        plugins=tuple(str(Path(p).absolute()) if Path(p).is_file() else p for p in plugins or ()),
        fresh=fresh,
        explaining=explaining,
    )


def parse_overrides(overrides: Sequence[str] | None) -> dict[str, str]:
    """``["fork=/x"]`` as a mapping, paths absolute; raises HarnessError for anything else."""
    chosen = {}
    for text in overrides or ():
        role, equals, where = text.partition("=")
        if not equals or not where:
            raise HarnessError(
                f"--toolchain {text}",
                "not of the form ROLE=WHERE",
                "write for example --toolchain fork=/path/to/venv",
            )
        parts = [part.strip() for part in where.split(",")]
        chosen[declared().role(role).name] = ",".join(
            str(Path(part).absolute()) if part and Path(part).exists() else part for part in parts
        )
    return chosen


def find_result(folder: Path, case_id: str) -> tuple[Run, CaseResult]:
    """One case of a run; its id may be shortened to any glob that matches one case only."""
    run = runs.load(folder)
    hits = [r for r in run.results if corpora.matches(r.case.id, case_id)]
    hits = [r for r in hits if r.case.id == case_id] or hits
    if len(hits) == 1:
        return run, hits[0]
    if not hits:
        raise HarnessError(
            f"case {case_id}",
            f"not among the {len(run.results)} cases of the run in {folder}",
            "see `tlx-equiv cases`, or run it first: `tlx-equiv run " + case_id + "`",
        )
    raise HarnessError(
        f"case {case_id}",
        f"matches {len(hits)} cases, such as {hits[0].case.id} and {hits[1].case.id}",
        "name one of them in full",
    )


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    builtin = msgspec.to_builtins(value)
    print(json.dumps(builtin, indent=1, sort_keys=False, default=str))
