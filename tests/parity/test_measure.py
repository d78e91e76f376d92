"""Planted faults, each found and called what it is, on a launcher without a GPU."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import host_launcher
import pytest

from harness.parity import measure
from harness.parity.bundle import Bundle
from harness.parity.manifest import BundledCase
from harness.parity.result import ParityResult, State


@pytest.fixture
def measured(
    compiled: Callable[..., object], bundle_of: Callable[..., Path]
) -> Callable[[str, str], ParityResult]:
    def run(fork: str, plugin: str) -> ParityResult:
        with Bundle(bundle_of(compiled("k", fork, plugin))) as bundle:
            case: BundledCase = bundle.manifest.cases[0]
            device = host_launcher.HostLauncher()
            roles = tuple(side.role for side in case.sides)
            sides = measure.load_sides(case, bundle, device, roles, lambda side, what: None)
            result = measure.measure(case, bundle, device, sides, lambda side, what: None)
            if result.state is State.DIFFERENT:
                result = measure.locate(case, device, sides, result)
            return result

    return run


def test_two_right_binaries_are_equal_in_every_distribution(measured) -> None:
    result = measured("add_one", "add_one_otherwise")
    assert result.verdict == "BITWISE_EQUAL"
    assert [t.distribution for t in result.trials] == ["normal", "wide", "specials", "integers"]
    specials = result.trials[2].bits[0]
    assert specials.nan.both > 0
    assert specials.inf.both > 0
    assert all(truth.wrong == 0 for trial in result.trials for truth in trial.truth)
    assert all(repeat.launches >= 5 for trial in result.trials for repeat in trial.repeats)


def test_one_binary_is_launched_once_and_still_held_to_the_truth(measured) -> None:
    assert measured("add_one", "add_one").verdict == "BITWISE_EQUAL"
    wrong = measured("add_two", "add_two")
    assert wrong.verdict == "WRONG(both)"
    assert {truth.side for trial in wrong.trials for truth in trial.truth} == {"both"}


def test_two_equal_wrong_results_are_a_failure(measured) -> None:
    result = measured("add_two", "add_two")
    assert result.verdict == "WRONG(both)"
    assert not any(bits.differing for trial in result.trials for bits in trial.bits)


@pytest.mark.parametrize(
    ("fork", "plugin", "verdict", "reason"),
    [
        ("add_one", "add_two", "WRONG(plugin)", "must be"),
        ("add_two", "add_one", "WRONG(fork)", "must be"),
        ("add_one", "forget_last", "WRONG(plugin)", "6 elements of y_ptr are never written"),
        ("race", "add_one", "NONDETERMINISTIC(fork)", "first in y_ptr[2, 5]"),
        ("add_one", "stray", "STRAY_WRITE(plugin)", "4 bytes changed in red zone between y_ptr"),
        ("add_one", "overwrite_input", "STRAY_WRITE(plugin)", "input x_ptr"),
    ],
)
def test_planted_fault_is_called_what_it_is(measured, fork, plugin, verdict, reason) -> None:
    result = measured(fork, plugin)
    assert result.verdict == verdict
    assert reason in result.reason


def test_wrong_result_says_how_the_sides_differ(measured) -> None:
    result = measured("add_one", "last_bit")
    assert result.verdict == "WRONG(plugin)"
    bits = result.trials[0].bits[0]
    assert (bits.differing, bits.worst_ulp, bits.first_index) == (1, 1, (3, 7))
    assert bits.histogram == {"1": 1}
