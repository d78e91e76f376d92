"""The store keeps what it was given, believes nothing damaged, and survives a kill."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import HarnessError
from harness.model import Artifact, Compilation, Outcome
from harness.store import Store, digest


def compilation(artifacts: dict[str, Artifact]) -> Compilation:
    return Compilation("k/s@cuda:90", "key", "fork", "f", Outcome.OK, artifacts)


@given(st.binary(max_size=4096))
@settings(max_examples=50, deadline=None)
def test_put_then_get_gives_the_same_bytes(tmp_path_factory: pytest.TempPathFactory, data: bytes):
    store = Store(tmp_path_factory.mktemp("store"))
    artifact = store.put(data)
    assert artifact == Artifact(digest(data), len(data))
    assert store.get(artifact.sha256) == data


@given(st.binary(min_size=1, max_size=512), st.data())
@settings(max_examples=50, deadline=None)
def test_any_altered_byte_is_noticed(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, draw: st.DataObject
):
    store = Store(tmp_path_factory.mktemp("store"))
    artifact = store.put(data)
    (path,) = store.objects()
    kept = bytearray(path.read_bytes())
    at = draw.draw(st.integers(0, len(kept) - 1))
    kept[at] ^= draw.draw(st.integers(1, 255))
    path.write_bytes(kept)
    found = store.get(artifact.sha256)
    assert found in (None, data)  # a bit that Zstandard does not use changes nothing
    if found is None:
        assert not path.exists()


def test_a_truncated_object_makes_its_manifest_absent(tmp_path: Path):
    store = Store(tmp_path)
    record = compilation({"ptx": store.put(b"code" * 100)})
    store.save("compile", "key", record)
    assert store.load_compilation("key") == record
    (path,) = store.objects()
    path.write_bytes(path.read_bytes()[:-3])
    assert store.load_compilation("key") is None


def test_what_is_kept_again_replaces_what_was_damaged_meanwhile(tmp_path: Path):
    store = Store(tmp_path)
    kept = store.put(b"code" * 100)
    (path,) = store.objects()
    path.write_bytes(b"another format, or nonsense")
    assert store.put(b"code" * 100) == kept
    assert store.get(kept.sha256) == b"code" * 100


def test_a_malformed_manifest_is_absent_and_removed(tmp_path: Path):
    store = Store(tmp_path)
    path = tmp_path / "manifests" / "compile" / "key.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"case": "half')
    assert store.load_compilation("key") is None
    assert not path.exists()


def test_an_artifact_name_cannot_leave_the_store(tmp_path: Path):
    with pytest.raises(HarnessError, match="not a sha256"):
        Store(tmp_path).get("../" * 20 + "etc/passwd")


def test_snapshots_are_verified_replaced_whole_and_dropped(tmp_path: Path):
    store = Store(tmp_path / "store")
    for text in (b"first", b"second"):
        store.keep_snapshots("key", [(digest(text), text), (digest(b"claimed"), b"other")])
        read = store.snapshots("key")
        assert read(digest(text)) == text
        assert read(digest(b"never kept")) is None
        assert store.has_snapshots("key")
        assert read(digest(b"claimed")) is None
        assert not store.has_snapshots("key")  # what is damaged is made again, as a whole
    store.keep_snapshots("key", [])
    assert store.snapshots("key")(digest(b"second")) is None
    store.drop_snapshots("key")
    assert not store.has_snapshots("key")


@given(st.binary(min_size=1, max_size=512), st.data())
@settings(max_examples=50, deadline=None)
def test_any_altered_byte_of_a_snapshot_is_noticed(
    tmp_path_factory: pytest.TempPathFactory, text: bytes, draw: st.DataObject
):
    store = Store(tmp_path_factory.mktemp("store"))
    store.keep_snapshots("key", [(digest(text), text)])
    path = store.snapshots_path("key")
    kept = bytearray(path.read_bytes())
    kept[draw.draw(st.integers(0, len(kept) - 1))] ^= draw.draw(st.integers(1, 255))
    path.write_bytes(kept)
    assert store.snapshots("key")(digest(text)) in (None, text)


def test_an_unwritable_store_is_one_clear_error():
    with pytest.raises(HarnessError, match="cannot write") as caught:
        Store(Path("/proc/tlx-equiv-store"))
    assert "--store" in caught.value.way_out


FULL = """
import resource, sys
from pathlib import Path
from harness.errors import HarnessError
from harness.store import Store
store = Store(Path(sys.argv[1]))
before = store.put(b"before")
resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))  # writing more fails as on a full disk
try:
    store.put(bytes(range(256)) * 64)
except HarnessError as error:
    print(error)
assert store.get(before.sha256) == b"before"
assert len(list(store.objects())) == 1
"""


def test_a_write_that_fails_is_one_clear_error_and_keeps_what_was_stored(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert "cannot write" in done.stdout
    assert "what was stored before is intact" in done.stdout


WRITER = """
import itertools, sys
from pathlib import Path
from harness.store import Store
store = Store(Path(sys.argv[1]))
for n in itertools.count():
    store.put(str(n).encode() * 20000)
    print(n, flush=True)
"""


def test_a_writer_killed_at_any_moment_leaves_nothing_half_written(tmp_path: Path):
    for delay in (0.05, 0.15, 0.3):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE
        )
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(delay)
        os.kill(writer.pid, signal.SIGKILL)
        writer.communicate()
    store = Store(tmp_path)
    names = [p.parent.name + p.name for p in store.objects() if not p.name.startswith(".tmp-")]
    assert names
    assert all(store.get(name) is not None for name in names)
