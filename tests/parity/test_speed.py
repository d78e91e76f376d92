"""Timing statistics on made-up timings whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from harness.parity import speed


def _samples(ratio: float, seed: int, count: int = 100) -> tuple[np.ndarray, np.ndarray]:
    """Noisy, drifting timings of two kernels whose medians are in this ratio."""
    generator = np.random.default_rng(seed)
    drift = 1 + 0.3 * np.linspace(0, 1, count)  # clocks falling while both are timed
    noise = np.exp(0.02 * generator.standard_normal((2, count)))
    noise[:, generator.random(count) < 0.05] *= 3  # interrupts
    return 50 * drift * noise[0], 50 * ratio * drift * noise[1]


@pytest.mark.parametrize("ratio", [0.8, 1.0, 1.17])
def test_the_interval_covers_the_truth(ratio: float) -> None:
    covered, widths = 0, []
    for seed in range(300):
        middle, low, high = speed.ratio_interval(*_samples(ratio, seed))
        assert low <= middle <= high
        covered += low <= ratio <= high
        widths.append(high / low - 1)
    assert covered >= 0.98 * 300
    assert np.median(widths) < 0.03  # and is no trivial interval


@pytest.mark.parametrize(
    ("medians", "low", "high", "verdict"),
    [
        ((50, 58), 1.15, 1.19, "slower"),
        ((58, 50), 0.85, 0.88, "faster"),
        ((50, 50.4), 0.99, 1.02, "same"),
        ((50, 50.5), 1.005, 1.015, "same"),  # beyond the noise, and too small to be a finding
        ((50, 58), 0.9, 1.4, "same"),  # noise
        ((5, 7), 1.3, 1.5, "too short to time"),
        ((9, 20), 2.1, 2.3, "slower"),
    ],
)
def test_verdicts(medians, low, high, verdict) -> None:
    assert speed.verdict(medians, low, high) == verdict


def test_a_slower_side_is_found_and_an_equal_one_is_not() -> None:
    for seed in range(50):
        for ratio, verdict in ((1.17, "slower"), (1.0, "same"), (0.9, "faster")):
            reference, candidate = _samples(ratio, seed)
            _, low, high = speed.ratio_interval(reference, candidate)
            medians = [float(np.median(reference)), float(np.median(candidate))]
            assert speed.verdict(medians, low, high) == verdict


def test_timing_is_median_and_middle_half() -> None:
    found = speed.timing([1, 2, 3, 4, 100])
    assert (found.low, found.median, found.high, found.samples) == (2, 3, 4, 5)
