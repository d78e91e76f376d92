"""Working folders are in memory where there is much of it, and leave nothing behind."""

import os
import stat
from pathlib import Path

import pytest

from harness import scratch as module
from harness.scratch import left_behind, scratch
from harness.store import Store


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "memory"
    folder.mkdir()
    monkeypatch.setattr(module, "MEMORY", folder)
    monkeypatch.setattr(module, "ROOM", 1)
    return folder


def test_a_folder_in_memory_is_private_and_removed(tmp_path: Path, memory: Path):
    store = Store(tmp_path / "store")
    with scratch(store) as folder:
        (folder / "file").write_text("x")
        assert folder.is_relative_to(memory)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert list(left_behind(store)) == [folder]
    assert not folder.exists()
    assert not list(left_behind(store))


def test_stores_do_not_see_each_others_folders(tmp_path: Path, memory: Path):
    first, second = Store(tmp_path / "first"), Store(tmp_path / "second")
    with scratch(first) as mine, scratch(second) as other:
        assert mine.is_relative_to(memory) and other.is_relative_to(memory)
        assert list(left_behind(first)) == [mine]
        assert list(left_behind(second)) == [other]


@pytest.mark.parametrize("why", ["absent", "small", "foreign", "linked"])
def test_else_the_stores_own_disk_is_used(
    why: str, tmp_path: Path, memory: Path, monkeypatch: pytest.MonkeyPatch
):
    if why == "absent":
        memory.rmdir()
    elif why == "small":
        monkeypatch.setattr(module, "ROOM", 1 << 62)
    elif why == "linked":  # by somebody else, to a folder of the user's own
        mine = tmp_path / "mine"
        mine.mkdir()
        link = memory / f"tlx-equiv-{os.getuid()}"
        link.symlink_to(mine)
        if os.getuid():
            pytest.skip("only root can give a link to another user")
        os.chown(link, 12345, 12345, follow_symlinks=False)
    else:
        uid = os.getuid()
        (memory / f"tlx-equiv-{uid + 1}").mkdir()
        monkeypatch.setattr(os, "getuid", lambda: uid + 1)  # it is not that user's own
    store = Store(tmp_path / "store")
    with scratch(store) as folder:
        assert folder.is_relative_to(store.root)
        assert list(left_behind(store)) == [folder]
