"""What plugins do: nothing where they are idle, and what they do where they are not."""

import datetime
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from harness import corpus, ledger, neutrality
from harness.batches import evaluate_all
from harness.cli.app import app
from harness.errors import HarnessError
from harness.model import Compilation, Outcome, PassStep, PluginProof, Verdict
from harness.session import Session
from harness.store import Store
from harness.toolchains import Toolchain, controls, find_descriptor, overlaid

Build = Callable[..., Path]

EXAMPLE = Path(__file__).resolve().parents[2] / "plugins" / "examples" / "one_buffer_less.py"


def session(reference: Toolchain, candidate: Toolchain, store: Path) -> Session:
    empty = ledger.Ledger((), datetime.date(2026, 12, 1))
    given = controls("controlled", {each.role: each for each in (reference, candidate)})
    return Session(reference, candidate, Store(store), empty, "controlled", given, explaining=False)


def plain(*patterns: str) -> list[corpus.Case]:
    return [case for case in corpus.load([corpus.DEFAULT]).select(patterns, ()) if case.baseline]


def test_plugins_that_are_loaded_and_not_used_change_no_byte(
    upstream: Toolchain, three: Toolchain, tmp_path: Path
):
    cases = plain("baseline/row_sum/*@cuda:100", "baseline/vector_add/*@hip:gfx942")
    with session(upstream, three, tmp_path) as made:
        found = neutrality.measure(made, ["null"], cases, 2)
        (result, _) = evaluate_all(made, cases, 2, lambda case, result: None)
    assert found.neutral
    assert {on.target for on in found.targets} == {"cuda:100", "hip:gfx942"}
    for on in found.targets:
        binary = "cubin" if on.target.startswith("cuda") else "hsaco"
        compared = {"ttir", "raw.ttir", "ttgir", "raw.ttgir", "llir", "metadata", binary}
        assert compared <= on.equal.keys()
        assert set(on.equal.values()) == {on.cases}
    side = result.compilations[three.role]
    assert all(proof.ran(side) == {} for proof in made.identities[three.role].plugins)


def test_an_example_that_changes_a_pass_is_seen_where_it_does(upstream: Toolchain, tmp_path: Path):
    changed = overlaid(upstream, [find_descriptor(str(EXAMPLE))])
    cases = plain("baseline/matmul/fp16*@cuda:90")
    with session(upstream, changed, tmp_path) as made:
        found = neutrality.measure(made, ["example"], cases, 1)
        (result,) = evaluate_all(made, cases, 1, lambda case, result: None)
    assert found.sound
    assert not found.neutral
    (on,) = found.targets
    assert {"ttgir", "llir", "ptx", "cubin", "metadata"} <= on.changed.keys()
    assert on.equal["ttir"] == 1
    verdicts = {comparison.stage: comparison.verdict for comparison in result.comparisons}
    assert verdicts["ttir"] is Verdict.IDENTICAL
    assert verdicts["ttgir"] is Verdict.DIFFERENT
    (proof,) = made.identities[changed.role].plugins
    assert proof.ran(result.compilations[changed.role]) == {
        "tritongpu-assign-latencies": 1,
        "sccp": 1,
    }
    assert proof.ran(result.compilations["upstream"]) == {}


def test_a_void_measurement_is_never_neutral(plugin: Toolchain, tmp_path: Path):
    same = msgspec.structs.replace(plugin, role="plugin+utlx")  # by mistake
    with session(plugin, same, tmp_path) as made:
        found = neutrality.measure(made, ["utlx"], plain("baseline/row_sum"), 1)
    assert "same toolchain" in found.void
    assert not found.neutral
    assert not found.sound


def test_a_session_says_once_and_first_that_a_plugin_would_not_load(
    upstream: Toolchain, build: Build, tmp_path: Path
):
    wrong = overlaid(upstream, [find_descriptor(str(build("wrong", triton="1.0")))])
    with session(upstream, wrong, tmp_path) as made, pytest.raises(HarnessError) as raised:
        neutrality.measure(made, ["wrong"], plain("baseline/row_sum"), 1)
    assert "is built for Triton 1.0" in raised.value.cause
    assert list(tmp_path.rglob("*.json")) == []  # nothing was compiled


# --- which passes are a plugin's ---------------------------------------------------------


def traced(*steps: tuple[str, str]) -> Compilation:
    trace = tuple(PassStep("m", name, "", name, "", 0, 0.0, origin=o) for name, o in steps)
    return Compilation("c", "k", "r", "f", Outcome.OK, {}, trace=trace)


def proven(passes: tuple[str, ...], hook: str = "") -> PluginProof:
    return PluginProof("l.so", "", False, True, 2, "p", "1", "3.8.0", passes, (), (), hook=hook)


@pytest.mark.parametrize(
    ("adder", "name"),
    [
        (".passes.plugin.mine", "mine"),
        (".passes.plugin.add_mine", "mine"),
        (".passes.plugin.add_plugin", "add_plugin"),
        (".passes.plugin.add_add_plugin", "add_plugin"),
        (".passes.plugin.plugin", ""),
        (".passes.ttir.mine", ""),
        (".passes.plugin.mine_too", ""),
    ],
)
def test_a_librarys_passes_are_known_by_either_name(adder: str, name: str):
    proof = proven(("mine", "add_plugin"))
    assert proof.ran(traced((adder, "x.py"), (adder, "x.py"))) == ({name: 2} if name else {})


def test_a_hooks_passes_are_those_that_its_file_added():
    steps = traced((".passes.common.add_cse", "/a/idea.py"), (".passes.common.add_licm", "c.py"))
    assert proven((), "/b/idea.py").ran(steps) == {".passes.common.add_cse": 1}
    assert proven(()).ran(steps) == {}


# --- the command line ---------------------------------------------------------------------


def invoke(*arguments: str):
    return CliRunner().invoke(app, list(arguments))


def test_doctor_tells_what_was_proven(three: Toolchain):
    names = [argument for d in three.descriptors for argument in ("--plugin", d.name)]
    done = invoke("doctor", "--sides", "upstream:upstream", *names, "--json")
    assert done.exit_code == 0, done.output
    side = json.loads(done.output)["sides"][three.role]
    assert side["findings"] == []
    assert [proof["plugin"] for proof in side["plugins"]] == [d.name for d in three.descriptors]


def test_doctor_gives_the_way_out_and_status_2(build: Build):
    library = str(build("wrong", triton="3.7.1"))
    done = invoke("doctor", "--sides", "upstream:upstream", "--hook", library)
    assert done.exit_code == 2, done.output
    assert "upstream: as it should be" in done.output
    assert "upstream+wrong: 1 problem" in done.output
    assert "way out: use a build of the plugin for Triton 3.8.0" in done.output


def test_neutrality_of_the_real_plugin_over_the_baselines_own_triton(tmp_path: Path):
    arguments = ("--target", "cuda:80", "--store", str(tmp_path), "--json")
    corpus_of_one = tmp_path / "kernels"
    source = corpus.DEFAULT / "baseline" / "row_sum"
    shutil.copytree(source, corpus_of_one / "baseline" / "row_sum")
    done = invoke("neutrality", "utlx", *arguments, "--corpus", str(corpus_of_one))
    assert done.exit_code == 0, done.output
    (found,) = json.loads(done.stdout)
    (on,) = found["targets"]
    assert on["changed"] == {}
    assert on["equal"]["cubin"] == on["cases"] == 1
