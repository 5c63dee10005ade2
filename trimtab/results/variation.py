"""What several launches of one binary say together: how their times spread, and whether they drift.

A launch draws its own placement of memory, its own core and its own moment, so that the samples of
one launch are alike in a way that those of two are not (Kalibera and Jones, Rigorous Benchmarking
in Reasonable Time, ISMM 2013). Times enter as logarithms, whose differences are shares.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Launches = Sequence[Sequence[int]]

MIN_FOR_TREND = 8  # values; Mann-Kendall's normal approximation asks for about ten
TREND_P = 0.01
TREND_SHARE = 0.01  # a drift below it is told by nobody's figures


@dataclass(frozen=True)
class Spread:
    """Standard deviations as shares of the time: of runs `within` a launch around its mean, and
    `between` the true means of launches.
    """

    within: float
    between: float


@dataclass(frozen=True)
class Trend:
    """How a series moves from its first value to its last, as a share of it; `p`: how often a
    series without a trend moves as steadily.
    """

    share: float
    p: float

    @property
    def is_drift(self) -> bool:
        """Whether it is steady, and large enough to matter."""
        return self.p < TREND_P and abs(self.share) >= TREND_SHARE


@dataclass(frozen=True)
class Drift:
    """Trends over a run: of the launches' lower quartiles, and of the runs within a launch. None
    where there are too few to say.
    """

    over: Trend | None
    within: Trend | None

    def __str__(self) -> str:
        """In words; "" without a drift."""
        found = [
            f"{trend.share:+.1%} {where}"
            for trend, where in (
                (self.over, "from the first launch to the last"),
                (self.within, "from the first run of a launch to its last"),
            )
            if trend and trend.is_drift
        ]
        return f"times drift: {', '.join(found)}" if found else ""


def typical(samples: Sequence[int]) -> float:
    """The time of a launch that launches are compared by: the lower quartile of its runs.

    Whatever else a machine does makes a run longer and never shorter; the quartile does not notice
    until three runs of four are hit, where the median gives way at half, and it is no extreme as
    the minimum is, which one lucky run decides.
    """
    return float(np.percentile(np.asarray(samples, np.float64), 25))


def spread(launches: Launches) -> Spread | None:
    """The components of variance of a one-way random-effects model with unequal groups, by the
    ANOVA estimator (Searle, Casella and McCulloch, Variance Components, 1992, section 3.6).

    None unless two launches have two positive samples each.
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
    """Whether a run drifts over its launches, or within them.

    Mann-Kendall's test says whether, the slope of Theil and Sen by how much. Within launches the
    statistics of all launches are summed, as Hirsch, Slack and Smith do with seasons (Techniques of
    Trend Analysis for Monthly Water Quality Data, 1982), and the median slope counts.
    """
    series = [np.log(np.asarray(launch, np.float64)) for launch in launches if min(launch) > 0]
    typicals = np.array([np.percentile(logs, 25) for logs in series])
    return Drift(_trend([typicals]), _trend(series))


def _trend(series: Sequence[NDArray[np.float64]]) -> Trend | None:
    long = [values for values in series if len(values) >= MIN_FOR_TREND]
    if not long:
        return None
    found = [_kendall(values) for values in long]
    score = sum(score for score, _, _ in found)
    variance = sum(variance for _, variance, _ in found)
    rise = float(np.median([share for _, _, share in found]))
    if variance == 0:  # all values are equal
        return Trend(0.0, 1.0)
    z = max(0.0, abs(score) - 1) / math.sqrt(variance)
    return Trend(math.expm1(rise), math.erfc(z / math.sqrt(2)))


def _kendall(values: NDArray[np.float64]) -> tuple[float, float, float]:
    """Mann-Kendall's S, its variance with ties, and the Theil-Sen rise over the series."""
    n = len(values)
    i, j = np.triu_indices(n, 1)
    differences = values[j] - values[i]
    _, ties = np.unique(values, return_counts=True)
    variance = (n * (n - 1) * (2 * n + 5) - float((ties * (ties - 1) * (2 * ties + 5)).sum())) / 18
    rise = float(np.median(differences / (j - i))) * (n - 1)
    return float(np.sign(differences).sum()), variance, rise
