"""Variation of times within launches and between them, and drift over a run.

Each launch gets its own memory placement, core and moment, so samples of one launch are more alike
than samples of different launches (Kalibera and Jones, Rigorous Benchmarking in Reasonable Time,
ISMM 2013). All statistics use logarithms of times, whose differences are relative.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Launches = Sequence[Sequence[int]]

MIN_FOR_TREND = 8  # values; Mann-Kendall's normal approximation needs about ten
MAX_FOR_TREND = 1000  # longer series are shortened
TREND_P = 0.01
TREND_SHARE = 0.01  # a smaller drift does not matter


@dataclass(frozen=True)
class Spread:
    """Relative standard deviations of runs `within` launches, and of means `between` launches."""

    within: float
    between: float


@dataclass(frozen=True)
class Trend:
    """The relative change of a series from its first value to its last, and its p-value."""

    share: float
    p: float

    @property
    def is_drift(self) -> bool:
        """Whether the trend is significant and large enough to matter."""
        return self.p < TREND_P and abs(self.share) >= TREND_SHARE


@dataclass(frozen=True)
class Drift:
    """Trends of a run: `over` its launches' lower quartiles, and of the runs `within` launches.

    None if there are too few values.
    """

    over: Trend | None
    within: Trend | None

    def __str__(self) -> str:
        """The drift in words; "" without drift."""
        trends = [
            f"{trend.share:+.1%} {where}"
            for trend, where in (
                (self.over, "from the first launch to the last"),
                (self.within, "from the first run of a launch to its last"),
            )
            if trend and trend.is_drift
        ]
        return f"times drift: {', '.join(trends)}" if trends else ""


def typical(samples: Sequence[int]) -> float:
    """The typical time of a launch, for comparisons: the lower quartile of its runs.

    Interference makes a run longer, never shorter. The quartile tolerates interference in three of
    four runs, the median only in half of them, and the minimum depends on a single lucky run.
    """
    return float(np.percentile(np.asarray(samples, np.float64), 25))


def spread(launches: Launches) -> Spread | None:
    """The components of variance of a one-way random-effects model with unequal groups, by the
    ANOVA estimator (Searle, Casella and McCulloch, Variance Components, 1992, section 3.6).

    None unless at least two launches have two positive samples each.
    """
    groups = [np.log(np.asarray(launch, np.float64)) for launch in launches if min(launch) > 0]
    groups = [group for group in groups if len(group) >= 2]
    if len(groups) < 2:
        return None
    sizes = np.array([len(group) for group in groups])
    means = np.array([group.mean() for group in groups])
    total, count = int(sizes.sum()), len(groups)
    grand = float((sizes * means).sum() / total)
    within = sum(float(((g - m) ** 2).sum()) for g, m in zip(groups, means, strict=True))
    mean_within = within / (total - count)
    mean_between = float((sizes * (means - grand) ** 2).sum()) / (count - 1)
    per_group = (total - float((sizes**2).sum()) / total) / (count - 1)
    between = max(0.0, (mean_between - mean_within) / per_group)
    return Spread(math.sqrt(mean_within), math.sqrt(between))


def drift(launches: Launches) -> Drift:
    """The drift of a run over its launches, and within them.

    Mann-Kendall's test decides whether there is a trend, the Theil-Sen slope gives its size. Within
    launches the test statistics of all launches are summed, as Hirsch, Slack and Smith do with
    seasons (Techniques of Trend Analysis for Monthly Water Quality Data, 1982), and the median
    slope counts.
    """
    series = [np.log(np.asarray(launch, np.float64)) for launch in launches if min(launch) > 0]
    typicals = np.array([np.percentile(logs, 25) for logs in series])
    return Drift(_trend([typicals]), _trend(series))


def _trend(series: Sequence[NDArray[np.float64]]) -> Trend | None:
    long = [_shortened(values) for values in series if len(values) >= MIN_FOR_TREND]
    if not long:
        return None
    tests = [_kendall(values) for values in long]
    score = sum(score for score, _, _ in tests)
    variance = sum(variance for _, variance, _ in tests)
    rise = float(np.median([rise for _, _, rise in tests]))
    if variance == 0:  # all values are equal
        return Trend(0.0, 1.0)
    z = max(0.0, abs(score) - 1) / math.sqrt(variance)
    return Trend(math.expm1(rise), math.erfc(z / math.sqrt(2)))


def _shortened(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The means of at most `MAX_FOR_TREND` equal parts of a series: the test compares all pairs."""
    size = -(-len(values) // MAX_FOR_TREND)
    parts = values[: len(values) // size * size].reshape(-1, size)
    return np.asarray(parts.mean(1))


def _kendall(values: NDArray[np.float64]) -> tuple[float, float, float]:
    """Mann-Kendall's S, its variance with ties, and the Theil-Sen rise over the series."""
    n = len(values)
    i, j = np.triu_indices(n, 1)
    differences = values[j] - values[i]
    _, ties = np.unique(values, return_counts=True)
    variance = (n * (n - 1) * (2 * n + 5) - float((ties * (ties - 1) * (2 * ties + 5)).sum())) / 18
    rise = float(np.median(differences / (j - i))) * (n - 1)
    return float(np.sign(differences).sum()), variance, rise
