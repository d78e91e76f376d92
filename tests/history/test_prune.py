"""Pruning never removes what history still refers to, whatever the limits."""

import dataclasses
import datetime
import os
import threading
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import scratch as scratch_module
from harness.errors import HarnessError
from harness.history import History
from harness.model import Artifact, Compilation, Outcome, PassStep
from harness.night import CaseFacts, Night, SideFacts
from harness.prune import DAY, GRACE, prune
from harness.result import Status
from harness.scratch import scratch
from harness.store import Store, digest

NOW = datetime.datetime(2026, 12, 31, tzinfo=datetime.UTC)
CASES = ("a", "b", "c")


@dataclasses.dataclass
class Kept:
    """A store and a history: compilation ``n`` of a case is what night ``n`` refers to."""

    store: Store
    history: History
    nights: list[Night]

    def compilation(self, key: str) -> Compilation | None:
        return self.store.peek("compile", key, Compilation)

    def whole(self, key: str) -> bool:
        """Whether a compilation is there with all that it refers to."""
        found = self.compilation(key)
        return found is not None and all(path.exists() for path in paths_of(self.store, key))

    def size(self) -> int:
        places = ("objects", "manifests", "snapshots")
        files = [path for place in places for path in (self.store.root / place).rglob("*")]
        return sum(path.stat().st_size for path in files if path.is_file())


def paths_of(store: Store, key: str) -> list[Path]:
    """All that the compilation ``key`` consists of."""
    found = store.peek("compile", key, Compilation)
    assert found is not None
    objects = [store.object_path(artifact.sha256) for artifact in found.artifacts.values()]
    return [*objects, store.snapshots_path(key), store.manifest_path("compile", key)]


def keys(night: Night) -> set[str]:
    return {side.key for facts in night.cases for side in facts.sides.values()}


def compiled(store: Store, key: str, shared: int) -> None:
    """A compilation with an artifact and a snapshot of its own, and one that others share."""
    own, both = store.put(os.urandom(2000)), store.put(b"shared %d" % shared * 200)
    text = os.urandom(1000)
    store.keep_snapshots(key, [(digest(text), text)])
    step = PassStep("m", "p", "", "", digest(text), 1000, 0.0, snapshot=True)
    artifacts: dict[str, Artifact] = {"cubin": own, "ttir": both}
    made = Compilation("c", key, "fork", "f", Outcome.OK, artifacts, (step,))
    store.save("compile", key, made)
    store.save("explain", key, made)


def night(day: int, channel: str, cases: dict[str, int]) -> Night:
    return Night(
        channel=channel,
        started=f"2026-12-{day:02}T00:00:00+00:00",
        seconds=0.0,
        lane="controlled",
        harness="0",
        reference="fork",
        candidate="plugin",
        toolchains={},
        cases=tuple(
            CaseFacts(
                case, case, "", "OK", "", Status.PASS, (),
                {"fork": SideFacts("OK", f"{case}{number}", 0.0)},
            )
            for case, number in cases.items()
        ),
    )  # fmt: skip


def everything(
    folder: Path, days: list[tuple[int, str, dict[str, int]]], idle: dict[str, float]
) -> Kept:
    """Nights by day, channel and the number of each case's compilation; ``idle`` says how many
    days before NOW a compilation was last used."""
    store, history = Store(folder / "store"), History(folder / "h.sqlite")
    nights = [night(*each) for each in days]
    for key in sorted({key for each in nights for key in keys(each)} | {"loose"}):
        compiled(store, key, len(key) % 2)
        then = NOW.timestamp() - DAY * idle.get(key, 30.0)
        for path in (*paths_of(store, key), store.manifest_path("explain", key)):
            os.utime(path, (then, then))
    for each in nights:
        history.record(each)
    return Kept(store, history, sorted(nights, key=lambda one: (one.started, one.id)))


def newest(kept: Kept) -> set[str]:
    """The keys of each case's newest night in each channel."""
    found = {}
    for each in kept.nights:
        for facts in each.cases:
            found[each.channel, facts.case] = {side.key for side in facts.sides.values()}
    return {key for some in found.values() for key in some}


days = st.lists(
    st.tuples(
        st.integers(1, 30),
        st.sampled_from(["pinned", "canary"]),
        st.dictionaries(st.sampled_from(CASES), st.integers(0, 3), min_size=1),
    ),
    max_size=6,
    unique_by=lambda each: each[:2],
)
idle = st.dictionaries(
    st.sampled_from([f"{case}{n}" for case in CASES for n in range(4)] + ["loose"]),
    st.floats(0, 40),
)


@settings(max_examples=60, deadline=None)
@given(
    days,
    idle,
    st.none() | st.floats(0, 40),
    st.none() | st.integers(0, 40_000),
    st.booleans(),
)
def test_nothing_that_history_refers_to_is_removed(
    tmp_path_factory, days, idle, max_age, max_size, dry_run
):
    kept = everything(tmp_path_factory.mktemp("prune"), days, idle)
    before, size = set(kept.store.objects()), kept.size()
    fresh = {
        p for p in (*kept.store.objects(), *kept.store.manifests(), *kept.store.snapshot_files())
        if NOW.timestamp() - p.stat().st_mtime <= GRACE
    }  # fmt: skip
    with kept.history:
        found = prune(
            kept.store, kept.history, NOW,
            None if max_age is None else max_age * DAY, max_size, dry_run,
        )  # fmt: skip
        references = kept.history.references()
    for reference in references:
        if reference.evidence:
            assert all(kept.whole(key) for some in reference.keys.values() for key in some)
    assert all(kept.whole(key) for key in newest(kept))
    assert all(path.exists() for path in fresh)
    assert len(references) == len(kept.nights)
    if dry_run:
        assert set(kept.store.objects()) == before
        assert all(reference.evidence for reference in references)
    else:
        assert found.kept == kept.size()
        assert found.removed == size - kept.size()
        assert found.over == (0 if max_size is None else max(0, kept.size() - max_size))


def test_what_is_old_and_unreferred_goes_and_recent_use_counts(tmp_path: Path):
    kept = everything(
        tmp_path,
        [(1, "pinned", {"a": 0, "b": 0}), (20, "pinned", {"a": 1}), (30, "pinned", {"a": 2})],
        {"a0": 40, "a1": 40, "a2": 40, "b0": 40, "loose": 3},
    )
    with kept.history:
        found = prune(kept.store, kept.history, NOW, max_age=14 * DAY)
        assert found.let_go == ("2026-12-01T00:00:00+00:00",)
        assert not kept.whole("a0")
        # b's newest night is the first; a1's night is within the age; loose was used lately.
        assert all(kept.whole(key) for key in ("a1", "a2", "b0", "loose"))
        prune(kept.store, kept.history, NOW, max_age=2 * DAY)
        assert not kept.whole("loose")
        assert not kept.whole("a1")
        assert kept.whole("a2")


def test_size_takes_the_oldest_first_and_lets_go_of_nights_only_if_it_must(tmp_path: Path):
    kept = everything(
        tmp_path,
        [(1, "pinned", {"a": 0}), (2, "pinned", {"a": 1}), (3, "pinned", {"a": 2})],
        {"loose": 10, "a0": 30, "a1": 20, "a2": 15},
    )
    with kept.history:
        found = prune(kept.store, kept.history, NOW, max_size=kept.size() - 1)
        assert (found.let_go, found.over) == ((), 0)
        assert all(kept.whole(key) for key in ("a0", "a1", "a2"))
        while kept.whole("a0"):
            found = prune(kept.store, kept.history, NOW, max_size=kept.size() - 1)
        assert found.let_go == ("2026-12-01T00:00:00+00:00",)
        assert kept.whole("a1")
        found = prune(kept.store, kept.history, NOW, max_size=0)
        assert kept.whole("a2")
        assert found.over == kept.size()


def test_a_run_in_progress_is_not_pruned_and_two_runs_do_not_exclude_each_other(tmp_path: Path):
    kept = everything(tmp_path, [], {"loose": 40})
    with kept.history, kept.store.shared(), Store(kept.store.root).shared():
        with pytest.raises(HarnessError, match="in use by a run"):
            prune(kept.store, kept.history, NOW, max_age=0)
        assert kept.whole("loose")
    with History(tmp_path / "h.sqlite") as history:
        prune(kept.store, history, NOW, max_age=0)
    assert not kept.whole("loose")


def test_a_run_waits_while_files_are_removed(tmp_path: Path):
    store = Store(tmp_path)
    order: list[str] = []

    def run() -> None:
        with Store(tmp_path).shared():
            order.append("run")

    with store.alone():
        runner = threading.Thread(target=run)
        runner.start()
        runner.join(0.1)
        order.append("pruned")
    runner.join(10)
    assert order == ["pruned", "run"]


def test_using_an_artifact_is_noted_looking_is_not(tmp_path: Path):
    store = Store(tmp_path)
    compiled(store, "key", 0)
    found = store.peek("compile", "key", Compilation)
    paths = [path for path in paths_of(store, "key") if "snapshots" not in str(path)]
    for path in paths:
        os.utime(path, (1, 1))
    store.peek("compile", "key", Compilation)
    assert {path.stat().st_mtime for path in paths} == {1}
    assert store.load_compilation("key") == found
    assert min(path.stat().st_mtime for path in paths) > 1
    os.utime(store.snapshots_path("key"), (1, 1))
    assert store.has_snapshots("key")
    assert store.snapshots_path("key").stat().st_mtime > 1
    os.utime(paths[0], (1, 1))
    data = store.get(paths[0].parent.name + paths[0].name)
    assert data is not None
    os.utime(paths[0], (1, 1))
    store.put(data)
    assert paths[0].stat().st_mtime > 1


def test_killed_runs_leave_nothing_behind_for_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    kept = everything(tmp_path, [], {})
    store = kept.store
    monkeypatch.setattr(scratch_module, "MEMORY", tmp_path)
    monkeypatch.setattr(scratch_module, "ROOM", 1)
    with scratch(store) as in_memory:
        pass
    monkeypatch.setattr(scratch_module, "ROOM", 1 << 62)  # full: what is left there goes the more
    with scratch(store) as on_disk:
        pass
    assert on_disk.is_relative_to(store.root)
    assert not in_memory.is_relative_to(store.root)
    for place in (in_memory, on_disk):
        for name, age in (("old", 2), ("new", 0.5)):
            left = place.with_name(f"{place.name}{name}")
            left.mkdir()
            (left / "file").write_text("x")
            then = NOW.timestamp() - age * DAY
            os.utime(left, (then, then))
    with kept.history:
        prune(kept.store, kept.history, NOW, max_age=100 * DAY)
    for place in (in_memory, on_disk):
        new = place.with_name(f"{place.name}new")
        assert list(place.parent.iterdir()) == [new]


def test_a_night_survives_json(tmp_path: Path):
    made = night(1, "pinned", {"a": 0})
    assert msgspec.json.decode(msgspec.json.encode(made), type=Night) == made
