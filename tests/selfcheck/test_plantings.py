"""The self-check on a few real artifacts: all is caught, and what a comparator misses is told."""

import dataclasses
import datetime
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from harness import corpus, toolchains
from harness.compare import comparison, rules
from harness.compare.text import Text
from harness.ledger import Ledger
from harness.selfcheck import (
    artifacts,
    benign,
    binaries,
    bundles,
    damage,
    material,
    misses,
    outputs,
    rows,
    stored,
)
from harness.selfcheck.material import Sample
from harness.session import Session
from harness.store import Store

KERNELS = ("async_copy/ring_copy/fp32-3x128@cuda:90", "memory/staged_copy/*@hip:gfx942")


@pytest.fixture(scope="module")
def session(
    fork: toolchains.Toolchain,
    plugin: toolchains.Toolchain,
    tmp_path_factory: pytest.TempPathFactory,
) -> Session:
    controls = toolchains.controls("controlled", {"fork": fork, "plugin": plugin})
    store = Store(tmp_path_factory.mktemp("store"))
    ledger = Ledger((), datetime.date(2026, 12, 1))
    with Session(fork, plugin, store, ledger, "controlled", controls, explaining=False) as opened:
        yield opened


@pytest.fixture(scope="module")
def samples(session: Session) -> list[Sample]:
    found = corpus.load([corpus.DEFAULT])
    return list(material.gather(session, [found.select([p])[0] for p in KERNELS]))


def of(samples: list[Sample], stage: str) -> list[Sample]:
    return [sample for sample in samples if sample.stage == stage]


def test_every_stage_is_planted_in(samples: list[Sample]) -> None:
    found = list(artifacts.plant_texts(samples))
    assert len(found) >= 200
    assert {row.group.removeprefix("artifacts: ") for row in rows(found)} == {
        "ttir", "ttgir", "llir", "ptx", "amdgcn", "sass", "metadata"
    }  # fmt: skip
    assert not misses(found)


def test_every_section_is_planted_in(samples: list[Sample]) -> None:
    found = list(binaries.plant_binaries(samples))
    assert {finding.kind for finding in found} >= {part.kind for part in binaries.PARTS[:3]}
    assert any(finding.benign for finding in found)
    assert not misses(found)


def test_benign_changes_are_put_down_to_their_rule(samples: list[Sample]) -> None:
    found = list(benign.plant_benign(samples))
    assert len(found) >= 60
    assert not misses(found)


def test_damage_is_equal_to_nothing(samples: list[Sample]) -> None:
    assert not misses(damage.plant_damage(samples))


def test_outputs_and_bundles(samples: list[Sample], tmp_path: Path) -> None:
    assert not misses(outputs.plant_outputs(each=1))
    assert not misses(bundles.plant_in_bundles(samples, tmp_path))


def test_a_damaged_store_is_not_believed(session: Session, tmp_path: Path) -> None:
    case = corpus.load([corpus.DEFAULT]).select([KERNELS[0]])[0]
    sides = session.evaluate(case).compilations
    found = list(stored.plant_in_store([(sides["fork"], sides["plugin"])], session.store, tmp_path))
    assert len(found) >= 50
    assert not misses(found)


def test_the_same_is_planted_every_time(samples: list[Sample]) -> None:
    some = of(samples, "ttgir")
    assert list(artifacts.plant_texts(some)) == list(artifacts.plant_texts(some))


Ignore = Callable[[str], object]


@pytest.mark.parametrize(
    ("stage", "rule", "ignored", "missed"),
    [
        ("ptx", "ptx.version", re.compile(r"\s+bar\.").match, "barrier"),
        ("ttgir", "mlir.no-scratch-memory", re.compile(r".*async_wait").match, "wait depth"),
        ("llir", "llvm.source-filename", re.compile(r"attributes #").match, "function attribute"),
        ("amdgcn", "amdgcn.ident", re.compile(r"\s+s_waitcnt").match, "wait depth"),
    ],
)
def test_a_rule_that_hides_something_is_found_out(
    samples: list[Sample],
    monkeypatch: pytest.MonkeyPatch,
    stage: str,
    rule: str,
    ignored: Ignore,
    missed: str,
) -> None:
    """A comparator that is blind to something must make the self-check fail."""
    some = of(samples, stage)[:1]
    planted = [f for f in artifacts.plant_texts(some) if f.kind == missed]
    assert planted
    assert not misses(planted)

    def blind(text: Text) -> Text:
        return text.keep(lambda line: not ignored(line))

    replaced = dataclasses.replace(rules.RULES[rule], apply=blind)
    monkeypatch.setitem(rules.RULES._rules, rule, replaced)
    comparison._remembered.cache_clear()
    assert misses(f for f in artifacts.plant_texts(some) if f.kind == missed)
    comparison._remembered.cache_clear()
