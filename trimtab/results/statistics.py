"""Order statistics of repeated measurements: median with a bootstrap interval, minimum, p90.

Latencies are skewed to the right, so nothing here assumes a normal distribution. The interval is
the percentile bootstrap of the median (Efron and Tibshirani, An Introduction to the Bootstrap,
chapter 13). Its seed is fixed, so a report from the same record is always the same. The bootstrap
resamples launches, not runs: the runs of a launch are correlated, and an interval over many runs
would be too narrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 10_000
CONFIDENCE = 0.95
MIN_SAMPLES = 10  # for a trustworthy interval of a median
# With fewer samples their maximum is no 95 % bound of p99 (Wilks, 1941: 0.99^299 < 0.05).
MIN_FOR_P99 = 299

Samples = Sequence[int] | Sequence[float]


@dataclass(frozen=True)
class Interval:
    """A closed interval that holds the true value with probability `CONFIDENCE`."""

    low: float
    high: float


@dataclass(frozen=True)
class Statistic:
    """Statistics of `count` samples from `launches` launches, in the unit of the samples."""

    count: int
    launches: int
    median: float
    interval: Interval
    minimum: float
    p90: float
    maximum: float


@dataclass(frozen=True)
class Ratio:
    """The ratio of two medians: `value` is median(other) / median(baseline)."""

    value: float
    interval: Interval
    is_real: bool | None
    """Whether the interval excludes 1; None if that cannot be decided."""


def describe(launches: Sequence[Samples]) -> Statistic:
    """Summarizes the samples of one or more launches, with at least one sample each.

    The median is that of the launches' medians, and its interval comes from resampling launches.
    The interval of a single launch resamples its runs, so it lacks the variation between launches.
    p90 uses numpy's linear interpolation. There is no p99 (`p99`): fifty samples do not determine
    it.
    """
    values = np.concatenate([np.asarray(samples, np.float64) for samples in launches])
    medians = _medians(launches)
    return Statistic(
        count=len(values),
        launches=len(launches),
        median=float(np.median(medians)),
        interval=_interval(bootstrap_medians(medians, seed=0)),
        minimum=float(values.min()),
        p90=float(np.percentile(values, 90)),
        maximum=float(values.max()),
    )


def p99(samples: Samples) -> float | None:
    """The 99th percentile; None with too few samples."""
    return float(np.percentile(samples, 99)) if len(samples) >= MIN_FOR_P99 else None


def compare(
    baseline: Sequence[Samples], other: Sequence[Samples], *, are_counts: bool = False
) -> Ratio:
    """The ratio of medians with its bootstrap interval; the two series are independent.

    Counts (bytes, instructions; `are_counts`) that do not vary are exact, even a single one. Times
    from separate measurements are never comparable, however many launches there are: the machine
    may have changed in between. Only interleaved launches are (`trimtab.compare.paired`).
    """
    a, b = _medians(baseline), _medians(other)
    interval = _interval(bootstrap_medians(b, seed=1) / bootstrap_medians(a, seed=2))
    is_exact = are_counts and np.ptp(a) == 0 and np.ptp(b) == 0
    is_enough = is_exact or (are_counts and min(len(a), len(b)) >= MIN_SAMPLES)
    return Ratio(
        value=float(np.median(b) / np.median(a)),
        interval=interval,
        is_real=not interval.low <= 1.0 <= interval.high if is_enough else None,
    )


def _medians(launches: Sequence[Samples]) -> NDArray[np.float64]:
    """The median of each launch; all samples if there is only one launch."""
    if len(launches) == 1:
        return np.asarray(launches[0], np.float64)
    return np.array([np.median(np.asarray(samples, np.float64)) for samples in launches])


def bootstrap_medians(samples: NDArray[np.float64], *, seed: int) -> NDArray[np.float64]:
    """Medians of `RESAMPLES` resamples with replacement: float64[RESAMPLES].

    Draws the order statistics directly. Drawing n of n with replacement picks
    `sorted[floor(n * u)]` for uniform u, so the k-th smallest of a resample is
    `sorted[floor(n * u_k)]`, where u_k is the k-th smallest of n uniforms: Beta(k, n + 1 - k). For
    even n the upper middle value follows from the lower one: it is the smallest of the n - k
    uniforms above u_k, Beta(1, n - k) of the way from u_k to 1. This is exact, and takes
    O(RESAMPLES) instead of O(RESAMPLES * n).
    """
    ordered = np.sort(samples)
    low, *high = (ordered[index] for index in _resampled(len(ordered), seed))
    return (low + high[0]) / 2 if high else low


@lru_cache(maxsize=16)  # the figures of a report have as many samples each
def _resampled(n: int, seed: int) -> tuple[NDArray[np.int64], ...]:
    """The indices of the middle values of `RESAMPLES` resamples of n ordered samples: one array for
    odd n, else two.
    """
    rng = np.random.default_rng(seed)
    k = (n + 1) // 2
    lower = rng.beta(k, n + 1 - k, RESAMPLES)
    if n % 2:
        return (_index(lower, n),)
    upper = lower + (1 - lower) * rng.beta(1, n - k, RESAMPLES)
    return _index(lower, n), _index(upper, n)


def _index(u: NDArray[np.float64], n: int) -> NDArray[np.int64]:
    return np.minimum((u * n).astype(np.int64), n - 1)


def _interval(values: NDArray[np.float64]) -> Interval:
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(values, [tail, 100 - tail])
    return Interval(float(low), float(high))
