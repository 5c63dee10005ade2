"""Order statistics of repeated measurements: median with a bootstrap interval, minimum, p90.

Latencies are skewed to the right, so nothing here assumes a normal distribution. The bootstrap is
the percentile bootstrap of the median (Efron and Tibshirani, An Introduction to the Bootstrap,
chapter 13), with a fixed seed: the same samples always give the same interval, so a report can be
made again from its record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 10_000
CONFIDENCE = 0.95
MIN_SAMPLES = 10  # fewer give no trustworthy interval of a median

Samples = Sequence[int] | Sequence[float]


@dataclass(frozen=True)
class Interval:
    """A closed interval that holds the true value with probability `CONFIDENCE`."""

    low: float
    high: float


@dataclass(frozen=True)
class Statistic:
    """What is reported of one series of samples; all but `count` in the unit of the samples."""

    count: int
    median: float
    interval: Interval
    minimum: float
    p90: float
    maximum: float


@dataclass(frozen=True)
class Ratio:
    """How the medians of two series relate: `value` = median(other) / median(baseline)."""

    value: float
    interval: Interval
    is_real: bool | None
    """Whether the interval excludes 1; None when there are too few samples to say."""


def describe(samples: Samples) -> Statistic:
    """Summarise `samples` (at least one).

    p90 is the linear interpolation of numpy. No p99: fifty samples do not know it.
    """
    values = np.asarray(samples, dtype=np.float64)
    return Statistic(
        count=len(values),
        median=float(np.median(values)),
        interval=_interval(bootstrap_medians(values, seed=0)),
        minimum=float(values.min()),
        p90=float(np.percentile(values, 90)),
        maximum=float(values.max()),
    )


def compare(baseline: Samples, other: Samples, *, are_counts: bool = False) -> Ratio:
    """The ratio of medians with its bootstrap interval; the two series are independent.

    `are_counts` (bytes, instructions): values that do not vary are exact, however few they are; a
    time that was taken once is not.
    """
    a = np.asarray(baseline, dtype=np.float64)
    b = np.asarray(other, dtype=np.float64)
    interval = _interval(bootstrap_medians(b, seed=1) / bootstrap_medians(a, seed=2))
    is_exact = are_counts and np.ptp(a) == 0 and np.ptp(b) == 0
    is_enough = is_exact or min(len(a), len(b)) >= MIN_SAMPLES
    return Ratio(
        value=float(np.median(b) / np.median(a)),
        interval=interval,
        is_real=not interval.low <= 1.0 <= interval.high if is_enough else None,
    )


def bootstrap_medians(samples: NDArray[np.float64], *, seed: int) -> NDArray[np.float64]:
    """Medians of `RESAMPLES` resamples with replacement: float64[RESAMPLES].

    Drawn without resampling: drawing n of n with replacement picks `sorted[floor(n * u)]` for
    uniform u, so the k-th smallest of a resample is `sorted[floor(n * u_k)]` with u_k the k-th
    smallest of n uniforms, which is Beta(k, n + 1 - k). For even n the upper middle one follows
    from the lower: of the n - k uniforms above u_k it is the smallest, Beta(1, n - k) of the way
    from u_k to 1. Exact, and O(RESAMPLES) instead of O(RESAMPLES * n).
    """
    rng = np.random.default_rng(seed)
    ordered = np.sort(samples)
    n = len(ordered)
    k = (n + 1) // 2
    lower = rng.beta(k, n + 1 - k, RESAMPLES)
    low = ordered[_index(lower, n)]
    if n % 2:
        return low
    upper = lower + (1 - lower) * rng.beta(1, n - k, RESAMPLES)
    return (low + ordered[_index(upper, n)]) / 2


def _index(u: NDArray[np.float64], n: int) -> NDArray[np.int64]:
    return np.minimum((u * n).astype(np.int64), n - 1)


def _interval(values: NDArray[np.float64]) -> Interval:
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(values, [tail, 100 - tail])
    return Interval(float(low), float(high))
