"""Bisection over real versions of the plugin: a boundary, and what is skipped."""

from __future__ import annotations

import msgspec
import pytest
from typer.testing import CliRunner

from harness import corpus as corpora
from harness.bisect import Change
from harness.cli.app import app
from harness.errors import HarnessError
from harness.hunt import hunt
from harness.opening import Opening
from harness.toolchains import declared

GEMM = "dots/pipelined_gemm/fp16-128x128x64-w4-b3@cuda:90"


def test_the_boundary_is_found_and_what_cannot_be_made_is_skipped(pinned, older, store):
    case = corpora.load([corpora.DEFAULT]).select([GEMM])[0]
    opening = Opening(str(store.root), explaining=False)
    versions = ["0.0.0", older, "0.0.1", pinned["plugin"]]
    found = hunt(case, declared().role("plugin"), versions, opening, lambda words: None)
    assert [step.version for step in found.tried] == versions
    assert (found.before, found.after) == (older, pinned["plugin"])
    assert found.skipped == ("0.0.1",)
    assert "0.0.1" in found.step("0.0.1").problem
    left, right = found.step(found.before).shown, found.step(found.after).shown
    assert left != right
    assert right["ttgir"].startswith("DIFFERENT ")


def test_no_version_that_can_be_judged_is_an_error_with_the_reason(probes, store):
    opening = Opening(str(store.root), explaining=False)
    with pytest.raises(HarnessError, match="none of its 2 versions") as caught:
        hunt(
            probes[0],
            declared().role("plugin"),
            ["0.0.0", "0.0.1"],
            opening,
            lambda words: None,
        )
    assert "0.0.1" in caught.value.cause


def test_the_command_says_that_nothing_changed(pinned, kernels, store, probes):
    arguments = [probes[0].id, "--over", "plugin", "--corpus", str(kernels)]
    arguments += ["--from", pinned["plugin"], "--to", pinned["plugin"]]
    arguments += ["--store", str(store.root), "--json"]
    result = CliRunner().invoke(app, ["bisect", *arguments], catch_exceptions=False)
    assert result.exit_code == 1
    found = msgspec.json.decode(result.stdout, type=Change)
    assert (found.before, found.after) == ("", "")
    assert [step.version for step in found.tried] == [pinned["plugin"]]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no/such/case@cuda:90", "--over", "plugin"], "matches none"),
        (["async_copy/ring_copy/*", "--over", "plugin"], "cases, such as"),
        ([GEMM, "--over", "compiler"], "no such role"),
        ([GEMM, "--over", "plugin", "--from", "0.1"], "not published"),
        ([GEMM, "--over", "fork", "--from", "3.7.3", "--to", "3.7.1"], "the wrong way round"),
    ],
)
def test_bad_input_is_one_clear_error(arguments: list[str], words: str):
    error = CliRunner().invoke(app, ["bisect", *arguments]).exception
    assert isinstance(error, HarnessError)
    assert words in error.cause
