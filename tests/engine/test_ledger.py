"""The ledger accepts exactly what it lists, fails closed, and keeps what a person wrote."""

import datetime
from pathlib import Path

import msgspec
import pytest

from harness import judge, ledger
from harness.errors import HarnessError
from harness.ledger import Expectation
from harness.model import Case, Comparison, Compilation, Failure, Outcome, Target, Verdict
from harness.result import Check, Status

TODAY = datetime.date(2026, 12, 1)
ENTRY = Expectation(
    id="wait-depth",
    cases=("async/*@cuda:*",),
    reason="the pipeliner merges waits",
    link="https://example.org/1",
    owner="someone",
    expires=datetime.date(2027, 6, 1),
    attribution="base-drift",
    fingerprints={"ttgir": ("aaaa", "bbbb"), "ptx": ("cccc",)},
)
CASE = Case(
    id="async/ring/fp32@cuda:90",
    kernel="async/ring",
    family="async",
    spec="fp32",
    target=Target("cuda", "90"),
    function="ring",
    folder="/nowhere",
    virtual_path="async/ring/kernel.py",
    source="",
    signature={},
    constexprs={},
    divisible_by_16=(),
    options={},
)


def compilation(role: str, outcome: Outcome = Outcome.OK, **rest: object) -> Compilation:
    return Compilation(CASE.id, "key", role, "f", outcome, {}, **rest)  # type: ignore[arg-type]


def judged(
    comparisons: list[Comparison],
    entries: tuple[Expectation, ...] = (ENTRY,),
    case: Case = CASE,
    sides: tuple[Compilation, Compilation] | None = None,
    checks: tuple[Check, ...] = (),
    lane: str = "controlled",
) -> dict[str, Status]:
    fork, plugin = sides or (compilation("fork"), compilation("plugin"))
    label, fingerprint = judge.outcome(fork, plugin)
    found = judge.judge(
        case,
        [fork, plugin],
        label,
        fingerprint,
        comparisons,
        checks,
        ledger.Ledger(entries, TODAY),
        lane,
    )
    return {judgement.stage: judgement.status for judgement in found}


def different(stage: str, fingerprint: str) -> Comparison:
    return Comparison(stage, Verdict.DIFFERENT, Verdict.DIFFERENT, fingerprint=fingerprint)


def test_equal_passes_and_equivalent_passes():
    same = Comparison("ttir", Verdict.IDENTICAL, Verdict.IDENTICAL)
    ruled = Comparison("ttgir", Verdict.DIFFERENT, Verdict.EQUIVALENT, ("mlir.alias-names",))
    assert judged([same, ruled]) == {
        "outcome": Status.PASS,
        "ttir": Status.PASS,
        "ttgir": Status.PASS,
    }


@pytest.mark.parametrize(
    ("stage", "fingerprint", "lane", "status"),
    [
        ("ttgir", "aaaa", "controlled", Status.EXPECTED),
        ("ttgir", "bbbb", "controlled", Status.EXPECTED),
        ("ptx", "cccc", "controlled", Status.EXPECTED),
        ("ttgir", "cccc", "controlled", Status.CHANGED),
        ("ttgir", "dddd", "controlled", Status.CHANGED),
        ("llir", "aaaa", "controlled", Status.NEW),
        ("ttgir", "aaaa", "shipped", Status.NEW),
    ],
)
def test_only_the_listed_difference_is_expected(
    stage: str, fingerprint: str, lane: str, status: Status
):
    assert judged([different(stage, fingerprint)], lane=lane)[stage] is status


def test_another_case_is_not_covered():
    other = msgspec.structs.replace(CASE, id="dots/gemm/fp16@cuda:90")
    assert judged([different("ttgir", "aaaa")], case=other)["ttgir"] is Status.NEW


def test_a_moving_side_is_never_a_pass():
    moving = Comparison("ptx", Verdict.DIFFERENT, Verdict.NONDETERMINISTIC, side="fork")
    assert judged([moving], entries=())["ptx"] is Status.NEW


REFUSAL = Failure("make_llir", "cp.async needs 4 bytes", "convert", "RuntimeError")


def failing(role: str, outcome: Outcome = Outcome.ERROR) -> Compilation:
    return compilation(role, outcome, failure=REFUSAL)


@pytest.mark.parametrize(
    ("expect", "sides", "label", "status"),
    [
        ("compile", (failing("fork"), failing("plugin")), "BOTH ERROR", Status.REFUSED),
        ("refuse", (failing("fork"), failing("plugin")), "BOTH ERROR", Status.PASS),
        ("refuse", (compilation("fork"), compilation("plugin")), "OK", Status.NEW),
        ("refuse", (failing("fork"), compilation("plugin")), "ERROR(fork)", Status.NEW),
        ("compile", (compilation("fork"), failing("plugin")), "ERROR(plugin)", Status.NEW),
        (
            "refuse",
            (failing("fork", Outcome.CRASH), failing("plugin", Outcome.CRASH)),
            "BOTH CRASH",
            Status.REFUSED,
        ),
        (
            "compile",
            (failing("fork"), failing("plugin", Outcome.CRASH)),
            "ERROR(fork) CRASH(plugin)",
            Status.NEW,
        ),
    ],
)
def test_outcomes(expect: str, sides: tuple[Compilation, Compilation], label: str, status: Status):
    case = msgspec.structs.replace(CASE, expect=expect)
    assert judge.outcome(*sides)[0] == label
    assert judged([], entries=(), case=case, sides=sides)["outcome"] is status


def test_an_error_printed_by_a_side_that_succeeded_is_not_ignored():
    loud = compilation("plugin", printed_errors="error: op dropped")
    label, fingerprint = judge.outcome(compilation("fork"), loud)
    assert label == "OK, errors printed(plugin)"
    assert fingerprint
    sides = compilation("fork"), loud
    assert judged([], entries=(), sides=sides)["outcome"] is Status.NEW


@pytest.mark.parametrize(("expect", "status"), [("compile", "REFUSED"), ("refuse", "PASS")])
def test_the_same_error_printed_by_both_is_agreement_never_a_pass(expect: str, status: str):
    sides = tuple(compilation(role, printed_errors="error: no") for role in ("fork", "plugin"))
    label, fingerprint = judge.outcome(*sides)
    assert (label, bool(fingerprint)) == ("BOTH PRINT ERRORS", True)
    case = msgspec.structs.replace(CASE, expect=expect)
    assert judged([], entries=(), case=case, sides=sides)["outcome"] is Status[status]


def test_a_failing_check_fails_whatever_the_verdicts():
    checks = (
        Check("ttgir.check", "ttgir", "fork", True),
        Check("ttgir.check", "ttgir", "plugin", False, "no match"),
    )
    assert judged([], entries=(), checks=checks)["check"] is Status.NEW


def problems(entry: Expectation, met: list[tuple[str, str]], ran: list[str]) -> list[str]:
    book = ledger.Ledger([entry], TODAY)
    for stage, fingerprint in met:
        book.find(CASE.id, stage, fingerprint, "controlled")
    whole = [CASE.id, "dots/gemm/fp16@cuda:90"]
    return [problem.kind for problem in book.problems(ran, whole, "controlled")]


ALL = [("ttgir", "aaaa"), ("ttgir", "bbbb"), ("ptx", "cccc")]


@pytest.mark.parametrize(
    ("entry", "met", "ran", "kinds"),
    [
        (ENTRY, ALL, [CASE.id], []),
        (ENTRY, ALL[1:], [CASE.id], ["stale"]),
        (ENTRY, [], ["dots/gemm/fp16@cuda:90"], []),  # its cases did not run: nothing is known
        (
            msgspec.structs.replace(ENTRY, expires=datetime.date(2026, 11, 30)),
            ALL,
            [CASE.id],
            ["expired"],
        ),
        (msgspec.structs.replace(ENTRY, cases=("gone/*",)), [], [CASE.id], ["unmatched"]),
    ],
)
def test_entries_that_no_longer_hold_fail(
    entry: Expectation, met: list[tuple[str, str]], ran: list[str], kinds: list[str]
):
    assert problems(entry, met, ran) == kinds


def test_recording_then_reading_gives_the_entry_and_keeps_comments(tmp_path: Path):
    path = tmp_path / "expected.toml"
    path.write_text("# reviewed every Monday\n")
    assert not ledger.record(path, ENTRY)
    more = msgspec.structs.replace(
        ENTRY, cases=("dots/*",), fingerprints={"ttgir": ("eeee",)}, reason="not used"
    )
    assert ledger.record(path, more)
    (entry,) = ledger.read([path], TODAY).expectations
    assert entry.cases == ("async/*@cuda:*", "dots/*")
    assert entry.fingerprints == {"ttgir": ("aaaa", "bbbb", "eeee"), "ptx": ("cccc",)}
    assert entry.reason == ENTRY.reason
    assert path.read_text().startswith("# reviewed every Monday\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[expectation]\n", "malformed"),
        ("[[expectation]]\nid = 'a'\n", "missing required field"),
        ("[other]\nx = 1\n", "unknown tables"),
    ],
)
def test_a_malformed_ledger_is_one_clear_error(tmp_path: Path, text: str, words: str):
    path = tmp_path / "expected.toml"
    path.write_text(text)
    with pytest.raises(HarnessError, match=words) as caught:
        ledger.read([path], TODAY)
    assert str(path) in caught.value.thing


def test_a_misspelt_attribution_is_refused(tmp_path: Path):
    path = tmp_path / "expected.toml"
    ledger.record(path, msgspec.structs.replace(ENTRY, attribution="pluginn"))
    with pytest.raises(HarnessError, match="is none of frontend"):
        ledger.read([path], TODAY)
