"""Borrowed toolchains: removed where the disk is short, unless they were there before."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.toolchains import Toolchain, borrow, borrowed
from harness.toolchains.environment import place


def test_what_was_made_for_it_goes_when_the_disk_is_short_and_nothing_else(
    upstream: Toolchain, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TLX_EQUIV_CACHE", str(scratch))
    given = str(upstream.site_packages)  # an overlay, so that the environment is small
    folder = place("plugin", given)
    assert folder is not None

    def use(room: int) -> bool:
        monkeypatch.setattr(borrow, "ROOM", room)
        with borrowed("plugin", given) as toolchain:
            assert toolchain.interpreter == folder / "bin" / "python"
            assert toolchain.interpreter.exists()
        return folder.exists()

    endless = 1 << 60
    assert not use(endless)
    assert use(0)
    assert use(endless)  # it was there


def test_what_is_pinned_stays(
    upstream: Toolchain, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(borrow, "ROOM", 1 << 60)
    with borrowed("upstream") as toolchain:
        assert toolchain == upstream
    assert upstream.interpreter.exists()


def test_an_environment_of_the_users_own_has_no_place_here(upstream: Toolchain) -> None:
    assert place("upstream", str(upstream.interpreter.parent.parent)) is None
