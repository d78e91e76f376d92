"""The workflows are safe by the tools that check them, and type what the command line knows."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer
import yaml

from harness.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PINNED = re.compile(r"uses: ([\w./-]+)@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)$")


def jobs(path: Path) -> dict[str, dict]:
    return yaml.safe_load(path.read_text())["jobs"]


def scripts() -> list[str]:
    return [
        step["run"]
        for path in WORKFLOWS
        for job in jobs(path).values()
        for step in job["steps"]
        if "run" in step
    ]


def commands() -> list[list[str]]:
    """Every call of tlx-equiv, with the shell's own words left out."""
    found = []
    for script in scripts():
        for line in script.splitlines():
            before, called, rest = line.partition("tlx-equiv ")
            if called and "#" not in before:
                words = shlex.split(rest)
                end = next((i for i, w in enumerate(words) if w in ("||", "&&", ";")), len(words))
                found.append([w for w in words[:end] if not w.startswith("${")])
    return found


def test_every_action_is_pinned_by_hash_and_one_version_of_it_is_used():
    uses = [
        line.strip().removeprefix("- ")
        for path in WORKFLOWS
        for line in path.read_text().splitlines()
        if "uses:" in line
    ]
    pins = [PINNED.match(line) for line in uses]
    assert all(pins), uses
    assert len({pin[1] for pin in pins if pin}) == len({pin.groups() for pin in pins if pin})


def test_nothing_may_write_but_the_job_that_deploys():
    for path in WORKFLOWS:
        assert yaml.safe_load(path.read_text())["permissions"] == {}
        for name, job in jobs(path).items():
            writing = {k for k, v in job["permissions"].items() if v == "write"}
            assert writing == ({"pages", "id-token"} if name == "pages" else set())
            if writing:
                assert all("run" not in step for step in job["steps"])


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_the_command_line_knows_what_is_typed(words: list[str]):
    group = typer.main.get_command(app)
    command = group.commands[words[0]]
    parser = command.make_parser(command.context_class(command))
    parser.parse_args(list(words[1:]))  # raises for an option that there is not
    with pytest.raises(Exception, match="No such option"):
        parser.parse_args([*words[1:], "--no-such-option"])


def test_the_commands_are_found():
    assert {words[0] for words in commands()} >= {"run", "merge", "bundle", "nightly"}


def test_make_knows_the_targets():
    wanted = {m for script in scripts() for m in re.findall(r"^make (\w+)", script, re.MULTILINE)}
    assert wanted == {"lint", "test", "selfcheck"}
    makefile = (ROOT / "Makefile").read_text()
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in wanted)


def test_zizmor_finds_nothing():
    done = subprocess.run(
        [Path(sys.executable).with_name("zizmor"), "--offline", "--persona=pedantic", *WORKFLOWS],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "No findings to report" in done.stdout


@pytest.mark.skipif(not shutil.which("actionlint"), reason="no actionlint (it is had from GitHub)")
def test_actionlint_finds_nothing():
    done = subprocess.run(["actionlint", *WORKFLOWS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
