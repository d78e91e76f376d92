"""What changed is what was made to change, no more and no less; and it says whose it is."""

from collections.abc import Callable

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.change import KINDS, Change, alike, headline
from harness.changes import changes
from harness.night import CaseFacts, Night, StageFacts
from harness.result import SpeedOf, Status
from harness.slowness import SECONDS

GEMM = "dots/pipelined_gemm"
replace = msgspec.structs.replace


def only(case: str, edit: Callable[[CaseFacts], CaseFacts]) -> Callable[[CaseFacts], CaseFacts]:
    """An edit of the cases whose id begins with ``case``."""
    return lambda facts: edit(facts) if facts.case.startswith(case) else facts


def at(stage: str, **fields: object) -> Callable[[CaseFacts], CaseFacts]:
    """An edit of one stage."""
    return lambda facts: replace(
        facts,
        stages=tuple(replace(s, **fields) if s.stage == stage else s for s in facts.stages),
    )


def side(role: str, **fields: object) -> Callable[[CaseFacts], CaseFacts]:
    """An edit of one side."""
    return lambda facts: replace(
        facts, sides={**facts.sides, role: replace(facts.sides[role], **fields)}
    )


def failing(facts: CaseFacts) -> CaseFacts:
    """The plugin refuses the case."""
    stages = tuple(StageFacts(s.stage, "NOT PRODUCED") for s in facts.stages if s.stage != "check")
    broken = replace(facts, outcome="ERROR(plugin)", outcome_fingerprint="e", stages=stages)
    broken = replace(broken, status=Status.NEW, outcome_status=Status.NEW)
    return side("plugin", outcome="ERROR", said="no such op", hashes={}, sizes={})(broken)


def one(found: tuple[Change, ...]) -> Change:
    (change,) = found
    return change


def gemm(night: Night) -> CaseFacts:
    return next(facts for facts in night.cases if facts.case.startswith(GEMM))


def other_plugin(night: Night, **fields: object) -> Night:
    plugin = replace(
        night.toolchains["plugin"],
        fingerprint="f" * 64,
        distributions=("triton-utlx==9", "triton==3.8.0"),
    )
    return replace(night, toolchains={**night.toolchains, "plugin": plugin}, **fields)


def test_nothing_changed_in_the_same_night_again(night: Night, later):
    found = changes(later(1), [night])
    assert (found.changes, found.toolchains, found.new_cases) == ((), (), 0)
    assert found.compared == len(night.cases)
    assert headline(found).startswith(f"nothing changed in {len(night.cases)} cases since")


def test_the_first_night_has_nothing_to_compare_with(night: Night):
    found = changes(night, [])
    assert (found.changes, found.since) == ((), "")
    assert "first night" in headline(found)


def test_a_new_divergence_names_place_attribution_cause_and_commands(night: Night, later):
    equal = later(0, only(GEMM, at("ttgir", verdict="EQUIVALENT", fingerprint="")))
    now = later(1, only(GEMM, at("ttgir", status=Status.NEW)))
    now = other_plugin(now)
    moved = later(1, only(GEMM, side("plugin", hashes={"ttgir": "other"})))
    now = replace(now, cases=tuple(
        replace(mine, sides=theirs.sides)
        for mine, theirs in zip(now.cases, moved.cases, strict=True)
    ))  # fmt: skip
    change = one(changes(now, [equal]).changes)
    facts = gemm(night)
    assert (change.kind, change.case) == ("new divergence", facts.case)
    assert change.stages == ("ttgir",)
    assert change.unexpected
    assert change.before == "EQUIVALENT"
    assert change.after.startswith("DIFFERENT; ")
    assert change.after.endswith(facts.births[0])
    assert change.attribution == facts.attributions[0] != ""
    assert change.moved == ("plugin",)
    assert change.because == ("plugin: triton-utlx 3.8.0.post16 -> triton-utlx 9",)
    assert change.command == f"tlx-equiv run {facts.case} --toolchain 'plugin=x y' --corpus k"
    assert change.bisect == (f"tlx-equiv bisect {facts.case} --over plugin --corpus k",)


def test_fixed_and_changed_and_their_reverse(night: Night, later):
    edits = {
        "fixed": at("ptx", verdict="IDENTICAL", fingerprint="", status=Status.PASS),
        "changed": at("ptx", fingerprint="0" * 16),
    }
    reverse = {"fixed": "new divergence", "changed": "changed"}
    for kind, edit in edits.items():
        now = later(1, only(GEMM, edit))
        change = one(changes(now, [night]).changes)
        assert (change.kind, change.stages, change.unexpected) == (kind, ("ptx",), False)
        assert change.bisect == ()  # no toolchain changed
        assert change.because[0].startswith("same toolchains and kernel")
        assert one(changes(later(2), [night, now]).changes).kind == reverse[kind]


def test_another_fingerprint_of_one_verdict_is_told_apart(night: Night, later):
    change = one(changes(later(1, only(GEMM, at("ptx", fingerprint="0" * 16))), [night]).changes)
    assert change.before != change.after
    assert "(ptx 00000000)" in change.after


def test_newly_failing_says_why_and_claims_nothing_else(night: Night, later):
    now = later(1, only(GEMM, failing))
    change = one(changes(now, [night]).changes)
    assert change.kind == "newly failing"
    assert (change.before, change.after) == ("OK", "ERROR(plugin): no such op")
    assert change.moved == ("plugin",)
    assert change.unexpected
    back = one(changes(later(2), [night, now]).changes)
    assert (back.kind, back.unexpected) == ("newly compiling", False)
    assert not changes(later(2), [night, now]).alarming


def test_what_compiles_newly_but_differs_unexpectedly_is_a_divergence_too(night: Night, later):
    before = later(0, only(GEMM, failing))
    now = later(1, only(GEMM, at("cubin", status=Status.NEW)))
    found = changes(now, [before]).changes
    assert [(c.kind, c.stages) for c in found] == [
        ("new divergence", ("cubin",)),
        ("newly compiling", ("outcome",)),
    ]


def test_a_case_is_compared_with_the_last_night_that_has_it(night: Night, later):
    """A night over a few cases hides nothing from the next."""
    few = later(1, lambda facts: facts if facts.case.startswith("baseline") else None)
    now = later(2, only(GEMM, at("ptx", fingerprint="0" * 16)))
    found = changes(now, [night, few])
    assert found.compared == len(night.cases)
    assert one(found.changes).since == night.started
    assert found.since == few.started


def test_cases_that_are_new_count_only_if_they_are_unexpected(night: Night, later):
    before = later(0, lambda facts: None if facts.case.startswith(GEMM) else facts)
    assert changes(later(1), [before]).changes == ()
    assert changes(later(1), [before]).new_cases == 1
    bad = later(
        1, only(GEMM, lambda f: at("ptx", status=Status.NEW)(replace(f, status=Status.NEW)))
    )
    change = one(changes(bad, [before]).changes)
    assert (change.kind, change.stages, change.unexpected) == ("new case differs", ("ptx",), True)


def test_what_was_unexpected_before_is_pending_and_not_news(night: Night, later):
    edit = only(GEMM, lambda f: at("ptx", status=Status.NEW)(replace(f, status=Status.NEW)))
    found = changes(later(2, edit), [night, later(1, edit)])
    assert found.changes == ()
    assert found.pending == (gemm(night).case,)


def test_void_nights_are_not_compared_with(night: Night, later):
    void = later(1, lambda facts: None, void="no plugin", names={})
    found = changes(later(2), [night, void])
    assert (found.since, found.changes) == (night.started, ())
    assert headline(changes(void, [night])).startswith("void")


def test_an_edited_kernel_is_named_as_the_cause(night: Night, later):
    edit = only(GEMM, lambda f: at("ptx", fingerprint="0" * 16)(replace(f, definition="new")))
    change = one(changes(later(1, edit), [night]).changes)
    assert change.because == ("the kernel or its case was edited",)


def test_names_that_come_and_go_are_told_once_alike(night: Night, later):
    gone = [name for name, sides in night.names.items() if "plugin" in sides][:3]
    names = {n: tuple(s for s in sides if n not in gone or s != "plugin")
             for n, sides in night.names.items()}  # fmt: skip
    names["brand_new"] = ("fork",)
    found = changes(later(1, names=names), [night])
    kinds = {(c.kind, c.case): c.moved for c in found.changes}
    assert kinds == {
        ("new name", "brand_new"): ("fork",),
        **{("vanished name", name): ("plugin",) for name in gone},
    }
    groups = alike(found.changes)
    assert [len(group.cases) for group in groups] == [3, 1]
    assert not found.alarming


@pytest.mark.parametrize(("factor", "slow"), [(1.0, False), (1.4, False), (4.0, True)])
def test_slower_to_compile_needs_factor_and_seconds(night: Night, later, factor, slow):
    usual = 1.0
    history = [later(day, side("plugin", seconds=usual + day / 100)) for day in range(4)]
    now = later(5, only(GEMM, side("plugin", seconds=usual * factor + 0.001)))
    now = replace(now, cases=tuple(
        f if f.case.startswith(GEMM) else side("plugin", seconds=usual)(f) for f in now.cases
    ))  # fmt: skip
    found = [c for c in changes(now, history).changes if c.kind == "slower to compile"]
    assert bool(found) == slow
    if slow:
        assert found[0].case == gemm(night).case
        assert not found[0].unexpected


def test_tiny_compilations_and_slow_machines_are_no_news(night: Night, later):
    tiny = later(0, side("plugin", seconds=0.05))
    assert not changes(later(1, side("plugin", seconds=SECONDS)), [tiny]).changes
    loaded = later(
        1,
        lambda facts: side("fork", seconds=9.0)(side("plugin", seconds=9.3)(facts)),
    )
    calm = later(0, lambda facts: side("fork", seconds=3.0)(side("plugin", seconds=3.1)(facts)))
    found = changes(loaded, [calm])
    assert found.changes == ()
    assert found.machine == pytest.approx(3.0)


def test_a_ratio_on_the_gpu_is_worse_only_beyond_both_intervals(later):
    def timed(low: float, high: float) -> Callable[[CaseFacts], CaseFacts]:
        speed = SpeedOf("slower", {"fork": 10.0, "plugin": 11.0}, (low + high) / 2, low, high)
        return only(GEMM, lambda facts: replace(facts, speed=speed))

    before = later(0, timed(1.00, 1.05), device="H200, driver 1")
    for low, kinds in ((1.04, []), (1.08, []), (1.2, ["slower on the GPU"])):
        now = later(1, timed(low, low + 0.02), device="H200, driver 2")
        assert [c.kind for c in changes(now, [before]).changes] == kinds
    elsewhere = later(1, timed(1.2, 1.22), device="B200, driver 2")
    assert changes(elsewhere, [before]).changes == ()


statuses = st.sampled_from([Status.PASS, Status.EXPECTED, Status.NEW, None])
verdicts = st.sampled_from(["IDENTICAL", "EQUIVALENT", "DIFFERENT", "NOT PRODUCED"])
stage_edits = st.dictionaries(
    st.integers(0, 30), st.tuples(verdicts, st.sampled_from("ab"), statuses), max_size=6
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(stage_edits, stage_edits)
def test_exactly_what_turned_is_told(later, left, right):
    """Against a model: the stages whose verdict or fingerprint turned, and no others."""

    def edited(day: int, edits: dict[int, tuple[str, str, Status | None]]) -> Night:
        numbers = iter(range(10**6))

        def edit(facts: CaseFacts) -> CaseFacts:
            number = next(numbers)
            if number not in edits:
                return facts
            verdict, fingerprint, status = edits[number]
            return at("ttir", verdict=verdict, fingerprint=fingerprint, status=status)(facts)

        return later(day, edit)

    before, now = edited(0, left), edited(1, right)
    expected = {}
    for then, facts in zip(before.cases, now.cases, strict=True):
        a, b = then.stage("ttir"), facts.stage("ttir")
        if a is None or b is None or "NOT PRODUCED" in (a.verdict, b.verdict):
            if b and b.measured and b.status is Status.NEW and a and not a.measured:
                expected[facts.case] = "new divergence"
            continue
        good = [s.verdict in ("IDENTICAL", "EQUIVALENT") for s in (a, b)]
        if good == [True, False]:
            expected[facts.case] = "new divergence"
        elif good == [False, True]:
            expected[facts.case] = "fixed"
        elif good == [False, False] and (a.verdict, a.fingerprint) != (b.verdict, b.fingerprint):
            expected[facts.case] = "changed"
    found = changes(now, [before]).changes
    assert {change.case: change.kind for change in found} == expected
    order = [(not change.unexpected, KINDS.index(change.kind)) for change in found]
    assert order == sorted(order)
    assert sum(len(group.cases) for group in alike(found)) == len(found)
