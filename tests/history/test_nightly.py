"""Consecutive nights on real toolchains: the pins, then an older plugin, then the pins again."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from harness import toolchains
from harness.change import Changes
from harness.cli import nightly, pin, selfcheck
from harness.cli.app import main
from harness.cli.ledger import differences
from harness.errors import HarnessError
from harness.history import History
from harness.result import LedgerProblem, Run, Status
from harness.selfcheck import Finding
from harness.toolchains import declared, newest, pins

FAILS = "memory/pinned_layouts/fp16-padded-64x64@cuda:90"  # post4 lacks a name that it uses
CHANGES = "barriers/named_alternation/fp32-128-w4@cuda:90"  # post4 drops its barrier, and says so
STAYS = "async_copy/token_waits/fp32-512-w4-plain@cuda:90"


class Nights:
    """A folder with a history, in which nights are run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        common = ("--history", "h.sqlite", "--store", "store", "--out", "night",
                  "--skip-selfcheck")  # fmt: skip
        return subprocess.run(
            [sys.executable, "-m", "harness.cli", "nightly", FAILS, CHANGES, STAYS, *common,
             *arguments],
            capture_output=True, text=True, cwd=self.folder, check=False,
        )  # fmt: skip

    def changes(self, channel: str = "pinned") -> Changes:
        read = json.loads((self.folder / "night" / channel / "history.json").read_text())
        return msgspec.convert(read["changes"], Changes)


def turned(found: Changes) -> dict[tuple[str, str], bool]:
    """Kind and case of each change, names left out, and whether it is unexpected."""
    return {(c.kind, c.case): c.unexpected for c in found.changes if not c.kind.endswith("name")}


def test_three_nights_say_what_changed(tmp_path: Path, fork, plugin):
    nights = Nights(tmp_path)
    # The installed triton with another plugin beside it: no second gigabyte.
    upstream = toolchains.ensure("upstream")
    older = f"plugin={upstream.site_packages},triton-utlx==3.8.0.post4"
    first = nights.run("--skip-canary")
    assert first.returncode == 0, first.stdout + first.stderr
    assert first.stdout.startswith("pinned: the first night")

    # An older plugin in the pinned pair is a failure, a canary that cannot be had is a warning.
    second = nights.run("--toolchain", older, "--canary", "plugin=/no/such/venv")
    assert second.returncode == 1, second.stdout + second.stderr
    found = nights.changes()
    assert turned(found) == {
        ("newly failing", FAILS): True,
        ("new divergence", CHANGES): True,
        ("changed", CHANGES): True,
    }
    assert [(t.role, t.before, t.after) for t in found.toolchains] == [
        ("plugin", "triton-utlx 3.8.0.post16", "triton-utlx 3.8.0.post4")
    ]
    for change in found.changes:
        assert change.moved in (("plugin",), ())
        if change.case == FAILS:
            assert change.command == shlex.join(["tlx-equiv", "run", FAILS, "--toolchain", older])
            assert change.bisect == (f"tlx-equiv bisect {FAILS} --over plugin",)
            assert "padded_shared_layout_encoding" in change.after
            assert change.attribution == "frontend"
    vanished = {c.case for c in found.changes if c.kind == "vanished name"}
    assert "assert_same_layout" in vanished
    lines = second.stdout.splitlines()
    assert "1 newly failing, 1 new divergence, 1 changed" in lines[0]
    assert lines[1] == "  plugin: triton-utlx 3.8.0.post16 -> triton-utlx 3.8.0.post4"
    assert "WARNING the canary could not be run: " in second.stdout
    assert STAYS not in second.stdout.partition("VANISHED")[0]

    # And back; now the older plugin is the canary, whose findings are warnings.
    third = nights.run("--canary", older)
    assert third.returncode == 0, third.stdout + third.stderr
    found = nights.changes()
    assert turned(found) == {
        ("newly compiling", FAILS): False,
        ("fixed", CHANGES): False,
        ("changed", CHANGES): False,
    }
    assert {c.case for c in found.changes if c.kind == "new name"} == vanished
    assert nights.changes("canary").since == ""
    assert "WARNING the canary has 2 cases that are not as expected" in third.stdout

    folder = nights.folder / "night"
    for name in ("summary.md", "junit.xml", "changes.json", "pinned/report/trends.html",
                 "canary/run.json", "canary/report/index.html"):  # fmt: skip
        assert (folder / name).stat().st_size > 0
    with History(nights.folder / "h.sqlite") as history:
        assert [series[0] for series in history.series()] == ["canary", "pinned"]
        pinned = history.nights(history.series()[1])
        assert [night.exit_status for night in pinned] == [0, 1, 0]

    # A run that was made elsewhere is taken as it is, and recording it again changes nothing.
    again = nights.run("--run", "night/pinned", "--skip-canary")
    assert again.returncode == 0, again.stdout + again.stderr
    assert turned(nights.changes()) == turned(found)


def test_a_planted_difference_that_is_missed_fails_the_night(tmp_path: Path, monkeypatch, plugin):
    """What the self-check finds is told and written; that it finds what it must is tested there."""
    made = [Finding("artifacts", "one bit", "a case", "a register", True, True)]
    identities = {"plugin": toolchains.identify(plugin)}
    monkeypatch.setattr(selfcheck, "planted", lambda *_: (made, identities))
    assert nightly.selfchecked(1, None, tmp_path) == []
    assert "one bit" in (tmp_path / "selfcheck.md").read_text()
    made.append(Finding("artifacts", "a barrier", "a case", "bar.sync gone", False, False))
    (warning,) = nightly.selfchecked(1, None, tmp_path)
    assert "of 2 planted differences 1 are not as they must be" in warning
    assert "a barrier: bar.sync gone" in warning

    def full(*_: object) -> None:
        raise HarnessError("disk", "full", "free some space")

    monkeypatch.setattr(selfcheck, "planted", full)
    assert nightly.selfchecked(1, None, tmp_path) == ["the self-check could not be run: disk: full"]


def test_the_newest_releases_go_together_and_locks_are_made_as_they_are():
    """On the day on which the pins are the newest, rewriting them changes nothing."""
    published = newest(declared())
    roles = declared().roles.values()
    assert set(published.versions) == {name for role in roles for name in role.pins}
    assert all(published.override(role) is None or "==" in str(published.override(role))
               for role in roles)  # fmt: skip
    for role in roles:
        pinned = {name: text.split()[0].partition("==")[2] for name, text in role.pins.items()}
        assert pins.lock(role, pinned).difference == ""
    moved = pins.lock(declared().role("plugin"), {"triton": "3.8.0", "triton-utlx": "3.8.0.post4"})
    assert "+triton-utlx==3.8.0.post4 \\" in moved.difference
    assert "--hash=sha256:" in moved.difference


def test_a_descriptor_says_what_the_library_registers(plugin: toolchains.Toolchain):
    (proof,) = toolchains.identify(plugin).plugins
    (descriptor,) = declared().role("plugin").plugins
    assert pins.described(descriptor, proof).difference == ""
    other = msgspec.structs.replace(proof, passes=proof.passes[1:], built_for_triton="9.9.9+git")
    changed = pins.described(descriptor, other).difference.splitlines()
    assert f'-    "{proof.passes[0]}",' in changed
    assert '+built_for_triton = "9.9.9"' in changed


def test_moving_the_pins_says_what_the_ledger_lacks(run: Run):
    """The recorded run was judged by an empty ledger: all its differences are lacking."""
    needed = pin.ledger_changes(run)
    assert set(needed) == {""}
    expected = {
        (stage, fingerprint) for result in run.results for stage, fingerprint in differences(result)
    }
    assert expected == {
        (stage, print_) for stage, prints in needed[""].items() for print_ in prints
    }
    told = "\n".join(line.plain for line in pin.told(run, needed))
    assert told.startswith("The ledger would need\n  in new entries:")
    near = msgspec.structs.replace(run.results[0].judgements[0], expectation="known")
    near = msgspec.structs.replace(near, stage="ptx", status=Status.CHANGED)
    result = next(r for r in run.results if "ptx" in dict(differences(r)))
    changed = msgspec.structs.replace(result, judgements=(near,))
    problem = LedgerProblem("old", "stale", "no case shows it")
    other = msgspec.structs.replace(run, results=(changed,), ledger_problems=(problem,))
    lines = [line.plain for line in pin.told(other, pin.ledger_changes(other))]
    assert lines[1] == "  in entry known:"
    assert lines[-1] == "  stale old: no case shows it"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("pin",), "write tlx-equiv pin --latest"),
        (("prune",), "give --max-age DAYS"),
        (("prune", "--max-size", "-1"), "is negative"),
        (("nightly", "--run", "nowhere", "--history", "h.sqlite"), "no such file"),
        (("nightly", "--history", "."), "--history FILE"),
    ],
)
def test_bad_usage_is_one_clear_error(
    tmp_path: Path, monkeypatch, capsys, arguments: tuple[str, ...], words: str
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["tlx-equiv", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    printed = capsys.readouterr().err
    assert words in printed
    assert printed.count("error:") == 1


def test_pins_that_cannot_be_written_are_one_clear_error(tmp_path: Path):
    edit = pins.Edit(tmp_path / "none" / "fork.txt", "", "x")
    with pytest.raises(HarnessError, match="cannot be written"):
        pins.rewrite([edit])
