"""Differences planted in artifacts: each must be found, where it is, and for what it is."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator

from harness import compare, explain
from harness.model import Comparison, Verdict
from harness.selfcheck.listing import Edit, Listing
from harness.selfcheck.material import Sample
from harness.selfcheck.table import Finding
from harness.selfcheck.texts import PLANTS, Plant

SIDES = ("original", "planted")
TEXTS_OF_A_KIND = 1


def plant_texts(samples: Iterable[Sample], each: int = TEXTS_OF_A_KIND) -> Iterator[Finding]:
    """Plant ``each`` changes of every kind in every text, where there is a place for them."""
    for sample in samples:
        plants = PLANTS.get(sample.stage, ())
        listing = Listing(sample.stage, sample.data) if plants else None
        for number, plant in enumerate(plants):
            assert listing is not None
            choice = random.Random(f"{sample.name} {number}")
            places = list(plant.find(listing))
            for edit in choice.sample(places, min(each, len(places))):
                yield _judge(sample, listing, plant, edit)


def _judge(sample: Sample, listing: Listing, plant: Plant, edit: Edit) -> Finding:
    found = compare.compare(sample.stage, sample.data, listing.after(edit))
    found = explain.classify_hunks(found, SIDES)
    lines = {
        text
        for i in range(edit.start, edit.end)
        for text in (listing.lines[i], listing.normal.get(i, listing.lines[i]))
    }
    here = [
        hunk
        for hunk in found.hunks
        if plant.leads
        or lines.intersection((*hunk.left, *hunk.right))
        or (hunk.left and hunk.left_line == edit.start + 1)
    ]
    return Finding(
        group=f"artifacts: {sample.stage}",
        kind=plant.kind,
        subject=sample.name,
        what=edit.what,
        caught=different(found),
        located=any(re.search(plant.says, hunk.kind) for hunk in here),
        answer=answer(found),
    )


def different(found: Comparison) -> bool:
    """Whether a comparison says that the sides differ, and shows where."""
    return found.raw is found.verdict is Verdict.DIFFERENT and bool(found.hunks)


def answer(found: Comparison) -> str:
    """A comparison in words."""
    kinds = dict.fromkeys(hunk.kind for hunk in found.hunks[:4])
    where = f" ({'; '.join(kinds)})" if found.hunks else ""
    rules = f" after {', '.join(found.rules)}" if found.rules else ""
    return f"{found.verdict.value}{rules}{where} {found.note}".strip()
