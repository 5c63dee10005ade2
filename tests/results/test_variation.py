"""Variation within launches and between them, and drift, on simulated launches."""

from __future__ import annotations

import numpy as np
import pytest

from trimtab.results import variation


def series(
    seed: int, *, count: int = 40, runs: int = 30, within: float = 0.02, between: float = 0.05
) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    centers = rng.normal(0, between, count)
    sizes = rng.integers(runs // 2, runs * 2, count)
    return [
        [int(ns) for ns in 1e6 * np.exp(center + rng.normal(0, within, size))]
        for center, size in zip(centers, sizes, strict=True)
    ]


@pytest.mark.parametrize(("within", "between"), [(0.02, 0.05), (0.05, 0.01), (0.03, 0.0)])
def test_the_variance_splits_into_its_simulated_components(within: float, between: float) -> None:
    result = [variation.spread(series(seed, within=within, between=between)) for seed in range(20)]
    assert np.median([one.within for one in result if one]) == pytest.approx(within, rel=0.05)
    assert np.median([one.between for one in result if one]) == pytest.approx(between, abs=0.003)


def test_a_single_launch_and_single_runs_have_no_components() -> None:
    assert variation.spread([[1, 2, 3]]) is None
    assert variation.spread([[5], [6], [7]]) is None


def test_the_typical_time_ignores_interference_in_half_of_the_runs() -> None:
    quiet = [100] * 20
    assert variation.typical([100] * 11 + [900] * 9) == variation.typical(quiet) == 100
    assert variation.typical([100, 20]) == 40


def test_a_machine_that_gets_slower_drifts() -> None:
    rng = np.random.default_rng(1)
    warming = [
        [int(ns) for ns in 1e6 * (1 + 0.005 * i) * rng.normal(1, 0.004, 20)] for i in range(12)
    ]
    result = variation.drift(warming)
    assert result.over is not None
    assert result.over.is_drift
    assert result.over.share == pytest.approx(0.055, abs=0.01)
    assert result.within is not None
    assert not result.within.is_drift
    assert str(result).startswith("times drift: +5.")


def test_launches_without_warm_up_drift_within() -> None:
    rng = np.random.default_rng(2)
    warming = 1e6 * np.exp(-0.003 * np.arange(20))
    cold = [[int(ns) for ns in warming * rng.normal(1, 0.004, 20)] for _ in range(10)]
    result = variation.drift(cold)
    assert result.within is not None
    assert result.within.is_drift
    assert result.within.share == pytest.approx(-0.055, abs=0.01)


def test_launches_of_many_short_runs_are_tested_in_little_memory() -> None:
    rng = np.random.default_rng(5)
    count = 300_007  # all pairs would need 90 GB
    noise = [np.exp(rng.normal(0, 0.1, count)) for _ in range(2)]
    warming = [(launch * np.linspace(1000, 1020, count)).tolist() for launch in noise]
    still = variation.drift([launch.tolist() for launch in noise]).within
    assert still is not None
    assert not still.is_drift
    within = variation.drift(warming).within
    assert within is not None
    assert within.is_drift
    assert within.share == pytest.approx(0.02, rel=0.2)


def test_noise_without_a_trend_is_rarely_called_a_drift() -> None:
    drifts = 0
    for seed in range(200):
        result = variation.drift(series(seed, count=10, runs=20))
        drifts += bool(str(result))
    assert drifts <= 10


def test_too_few_launches_and_equal_times_have_no_trend() -> None:
    assert variation.drift([[5, 6], [7, 8]]).over is None
    assert str(variation.drift([[5] * 10] * 10)) == ""
