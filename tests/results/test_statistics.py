"""Statistics against naive resampling and hand-computed values."""

from __future__ import annotations

import numpy as np
import pytest

from trimtab.results import statistics


def naive_medians(samples: np.ndarray, resamples: int) -> np.ndarray:
    rng = np.random.default_rng(123)
    picks = rng.integers(0, len(samples), (resamples, len(samples)))
    return np.asarray(np.median(samples[picks], axis=1))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 11, 30, 51])
def test_bootstrap_medians_are_distributed_as_those_of_plain_resampling(count: int) -> None:
    samples = np.random.default_rng(count).gamma(2.0, 100.0, count)
    ours = statistics.bootstrap_medians(samples, seed=0)
    naive = naive_medians(samples, statistics.RESAMPLES)
    values = np.unique(np.round(naive, 6))  # the Kolmogorov-Smirnov distance, at every atom
    below = [np.searchsorted(np.sort(np.round(x, 6)), values, side="right") for x in (ours, naive)]
    assert np.max(np.abs(below[0] - below[1])) / statistics.RESAMPLES < 0.025


def test_describes_a_known_series() -> None:
    statistic = statistics.describe([[5, 1, 4, 2, 3, 6, 7, 8, 9, 10, 11]])
    assert (statistic.count, statistic.median, statistic.minimum) == (11, 6.0, 1.0)
    assert statistic.p90 == 10.0
    assert statistic.interval.low <= 6.0 <= statistic.interval.high


def test_the_same_samples_give_the_same_interval() -> None:
    samples = list(np.random.default_rng(5).normal(100, 5, 40))
    assert statistics.describe([samples]) == statistics.describe([samples])


def test_the_interval_covers_the_true_median_about_95_times_in_100() -> None:
    rng = np.random.default_rng(9)
    hits = 0
    for _ in range(200):
        interval = statistics.describe([list(rng.normal(50.0, 3.0, 30))]).interval
        hits += interval.low <= 50.0 <= interval.high
    assert 180 <= hits <= 199


def test_an_interval_over_launches_is_not_narrowed_by_more_runs_of_each() -> None:
    rng = np.random.default_rng(9)
    hits, single = 0, 0
    for _ in range(200):
        centers = rng.normal(50.0, 2.0, 15)
        launches = [list(rng.normal(center, 0.5, 40)) for center in centers]
        interval = statistics.describe(launches).interval
        hits += interval.low <= 50.0 <= interval.high
        flat = statistics.describe([[x for launch in launches for x in launch]]).interval
        single += flat.low <= 50.0 <= flat.high
    assert 180 <= hits <= 199
    assert single < 120, "what pools the runs promises too much: the oracle would not notice"


def test_times_of_separate_measurements_are_never_called_real() -> None:
    rng = np.random.default_rng(1)
    a, faster = ([list(rng.normal(m, 2, 40)) for _ in range(12)] for m in (100, 80))
    ratio = statistics.compare(a, faster)
    assert ratio.is_real is None
    assert ratio.value == pytest.approx(0.8, rel=0.02)
    assert ratio.interval.low < ratio.value < ratio.interval.high
    assert statistics.compare(a, faster, are_counts=True).is_real is True


def test_few_samples_give_no_verdict_unless_they_are_exact_counts() -> None:
    assert statistics.compare([[1, 2, 3]], [[7, 8, 9]], are_counts=True).is_real is None
    assert statistics.compare([[100]], [[90]]).is_real is None
    assert statistics.compare([[100, 100]], [[90, 90]], are_counts=True).is_real is True
    assert statistics.compare([[100, 100]], [[100, 100]], are_counts=True).is_real is False
