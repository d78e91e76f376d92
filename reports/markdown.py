"""The Markdown summary for CI: the index's first screen, below the size CI accepts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.change import alike, headline
from reports.gpu import ratio_words
from reports.highlight import visible
from reports.tallies import Group
from reports.view import RunView

# GitHub discards a step summary over 1 MiB whole; stay well below.
LIMIT = 900_000
_CELL = 300
_CHANGES = 200
_SPECIAL = {ord(c): f"&#{ord(c)};" for c in "&<>|`*_[]~\\#!"} | {ord("\n"): " ", ord("\r"): " "}


def summary(view: RunView) -> str:
    """The summary, shorter than LIMIT bytes; what was left out is counted at its end."""
    return _bounded([*_changed(view), *_lines(view)])


def night(views: Sequence[RunView], warnings: Sequence[str]) -> str:
    """The summary of a nightly job: what changed in every channel, then the first one's run."""
    changed = [line for view in views for line in _changed(view)]
    warned = [f"> **Warning** {_text(text)}" for text in warnings]
    return _bounded([*changed, *("", *warned) * bool(warned), "", *_lines(views[0])])


def _bounded(lines: Sequence[str]) -> str:
    size = 0
    for index, line in enumerate(lines):
        size += len(line.encode("utf-8", "backslashreplace")) + 1
        if size > LIMIT - 200:
            rest = f"*{len(lines) - index:,} more lines did not fit: index.html has everything.*"
            return "\n".join([*lines[:index], "", rest, ""])
    return "\n".join([*lines, ""])


def _changed(view: RunView) -> Iterator[str]:
    """What changed since the last comparable night; nothing where there is no history."""
    changes = view.changes
    if changes is None:
        return
    yield f"## {_text(changes.channel)}: {_text(headline(changes))}"
    yield ""
    for turn in changes.toolchains:
        yield f"- **{_text(turn.role)}**: {_text(turn.before)} → {_text(turn.after)}"
    groups = alike(changes.changes)
    yield from _table(
        "What changed",
        ("Change", "Cases", "Such as", "From what to what", "Attribution", "Again"),
        [
            (
                change.kind + (" (unexpected)" if change.unexpected else ""),
                str(len(group.cases)),
                f"{change.case} {', '.join(change.stages)}",
                f"{change.before} → {change.after}" if change.before else change.after,
                change.attribution or " and ".join(change.moved) or "–",
                "; ".join([change.command, *change.bisect]),
            )
            for group in groups[:_CHANGES]
            for change in [group.change]
        ],
    )
    if len(groups) > _CHANGES:
        yield f"*{len(groups) - _CHANGES:,} more kinds in changes.json.*"
    if changes.pending:
        such = _text(changes.pending[0])
        yield ""
        yield f"{len(changes.pending):,} cases unexpected already before, such as {such}."
    yield ""


def _lines(view: RunView) -> Iterator[str]:
    run = view.run
    yield f"## {_text(view.sentence)}"
    yield ""
    yield (
        f"{_text(run.reference)} against {_text(run.candidate)}, lane {_text(run.lane)},"
        f" {_text(run.started)}, {run.seconds:.1f} s"
    )
    if run.part is not None and run.part.missing:
        yield f"- **only {_text(str(run.part))}**"
    for figure in view.figures:
        yield f"- **{figure.words}** {_text(figure.label)} ({figure.note})"
    yield from _table(
        "Toolchains",
        ("Role", "Distributions", "LLVM", "Fingerprint"),
        [
            (role, ", ".join(chain.distributions), chain.llvm_revision[:10], chain.fingerprint[:10])
            for role, chain in run.toolchains.items()
        ],
    )
    states = ("identical", "equivalent", "different", "nondeterministic", "absent")
    yield from _table(
        "Cases by stage",
        ("Stage", "Identical", "After rules", "Different", "Unstable", "None"),
        [(stage, *(str(counts[state]) for state in states)) for stage, counts in view.stages],
    )
    yield from _table(
        "New, changed or not measured",
        ("Case", "Judged", "Where", "What", "Attribution"),
        [
            (
                case.id,
                case.status.value,
                "; ".join(cause.place for cause in case.causes[:2]),
                "; ".join(kind for cause in case.causes[:2] for kind in cause.kinds[:1])
                or case.reason,
                case.attribution or "–",
            )
            for case in view.news
        ],
    )
    yield from _table(
        "Outside the cases",
        ("What", "Why"),
        [(f"ledger {p.expectation}", f"{p.kind}: {p.message}") for p in run.ledger_problems]
        + [("not usable", text) for text in run.broken],
    )
    yield from _gpu(view)
    yield from _groups("Causes", ("Pass", "Kinds"), view.causes)
    yield from _groups("Expected differences", ("Entry", "Stages"), view.ledger)
    yield from _groups("Failures", ("How", "Where"), view.failures)


def _gpu(view: RunView) -> Iterator[str]:
    """What a GPU found: results that are not equal, and a candidate that is slower."""
    found = [(case, case.result.parity) for case in view.gpu.unequal]
    yield from _table(
        "Not equal on the GPU",
        ("Case", "Verdict", "Where"),
        [(case.id, parity.verdict, parity.reason) for case, parity in found if parity],
    )
    timed = [(case, case.result.parity) for case in view.gpu.slower]
    yield from _table(
        "Slower on the GPU",
        ("Case", "Ratio", "Attribution"),
        [
            (case.id, ratio_words(parity.speed), case.attribution or "–")
            for case, parity in timed
            if parity and parity.speed
        ],
    )


def _groups(title: str, heads: tuple[str, str], groups: Sequence[Group]) -> Iterator[str]:
    rows = [
        (str(len(group.cases)), group.name, group.detail, group.words, group.cases[0].id)
        for group in groups
    ]
    yield from _table(title, ("Cases", *heads, "In words", "Such as"), rows)


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if rows:
        yield from ("", f"### {title}", "", f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads))
        for row in rows:
            yield f"| {' | '.join(_text(cell) for cell in row)} |"


def _text(text: str) -> str:
    """``text`` as one line that Markdown and HTML take literally."""
    clipped = text if len(text) <= _CELL else f"{text[:_CELL]} … {len(text) - _CELL:,} more"
    return visible(clipped.replace("\r", "")).translate(_SPECIAL)
