"""Order statistics of repeated measurements: median with a bootstrap interval, minimum, p90.

Latencies are skewed to the right, so nothing here assumes a normal distribution. The bootstrap is
the percentile bootstrap of the median (Efron and Tibshirani, An Introduction to the Bootstrap,
chapter 13), with a fixed seed: the same samples always give the same interval, so a report can be
made again from its record. It resamples launches, not runs: the runs of a launch are not
independent of each other, and the more of them there are, the more an interval over runs promises.
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
    """What is reported of one series of samples; all but the counts in the unit of the samples.

    `count` samples come from so many `launches`.
    """

    count: int
    launches: int
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
    """Whether the interval excludes 1; None when that cannot be said."""


def describe(launches: Sequence[Samples]) -> Statistic:
    """Summarize the samples of one launch or more (at least one sample each).

    The median is that of the launches' medians, and its interval comes from resampling launches. A
    single launch has but its own samples: what differs from launch to launch is not in its
    interval. p90 is the linear interpolation of numpy. No p99: fifty samples do not know it.
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


def compare(
    baseline: Sequence[Samples], other: Sequence[Samples], *, are_counts: bool = False
) -> Ratio:
    """The ratio of medians with its bootstrap interval; the launches of the two are independent.

    `are_counts` (bytes, instructions): values that do not vary are exact, however few they are.
    Times never are, nor do many launches help: what the machine did in the time between the two
    series is in neither. Only interleaved launches tell (`trimtab.compare.paired`).
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
    """The median of each launch; of a single one all of its samples."""
    if len(launches) == 1:
        return np.asarray(launches[0], np.float64)
    return np.array([np.median(np.asarray(samples, np.float64)) for samples in launches])


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
