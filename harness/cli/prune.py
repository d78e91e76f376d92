"""``tlx-equiv prune``: make the store smaller, without what history still refers to."""

from __future__ import annotations

import datetime
from typing import Annotated

import typer

from harness import prune as pruning
from harness.cli import options
from harness.errors import HarnessError
from harness.history import History

_GB = 10**9


def prune(
    max_age: Annotated[
        float | None, typer.Option(metavar="DAYS", help="Remove what was not used for this long.")
    ] = None,
    max_size: Annotated[
        float | None, typer.Option(metavar="GB", help="Then the oldest, until this much is left.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Remove nothing; show what would be.")
    ] = False,
    history: options.HistoryFile = None,
    store: options.StoreDir = None,
    json: options.Json = False,
) -> None:
    """Make the store smaller. What the newest nights refer to stays, and every verdict does.

    Older nights in the history keep their verdicts, but not their artifacts. Nothing that was
    used in the last day goes, and nothing at all while a run is using the store.
    """
    if max_age is None and max_size is None:
        raise HarnessError("prune", "no limit given", "give --max-age DAYS, --max-size GB, or both")
    for name, value in (("--max-age", max_age), ("--max-size", max_size)):
        if value is not None and value < 0:
            raise HarnessError(f"{name} {value:g}", "is negative", "give 0 or more")
    kept = options.open_store(store)
    with History(options.history_file(history)) as past:
        found = pruning.prune(
            kept,
            past,
            datetime.datetime.now(datetime.UTC),
            None if max_age is None else max_age * pruning.DAY,
            None if max_size is None else round(max_size * _GB),
            dry_run,
        )
    if json:
        options.print_json(found)
        return
    verb = "would be removed" if dry_run else "removed"
    print(
        f"{kept.root}: {found.files} files {verb}, {_bytes(found.removed)} of"
        f" {_bytes(found.removed + found.kept)}; history refers to {_bytes(found.referenced)}"
    )
    if found.let_go:
        print(
            f"{len(found.let_go)} nights keep their verdicts only, the last of {found.let_go[-1]}"
        )
    if found.over:
        print(
            f"still {_bytes(found.over)} over --max-size: the newest nights refer to the rest,"
            " or it was used in the last day"
        )


def _bytes(size: int) -> str:
    return f"{size / _GB:.2f} GB" if size >= _GB else f"{size / 1e6:.1f} MB"
