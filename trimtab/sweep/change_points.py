"""Change points: where a series of figures moves from one level to another.

The algorithm is E-divisive with means (Matteson and James, "A Nonparametric Approach for Multiple
Change Point Analysis of Multivariate Data", JASA 109, 2014), which MongoDB uses to find performance
regressions (Daly et al., "The Use of Change Point Detection to Identify Software Performance
Regressions in a Continuous Integration System", ICPE 2020). It splits the series where the energy
distance between the two parts is largest, and repeats this while a permutation test finds the split
significant. It assumes neither normal noise nor a number of change points. Fewer than eight values
never reach the significance level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

SIGNIFICANCE = 0.01
MIN_SEGMENT = 3  # values on either side of a change point
_PERMUTATIONS = 499


@dataclass(frozen=True)
class ChangePoint:
    """The level changes at value `at`; `ratio` is the median after it to the median before it, each
    up to the neighboring change point.
    """

    at: int
    ratio: float


def exact(values: Sequence[float]) -> list[ChangePoint]:
    """Change points of figures without noise, such as bytes and counts: every change is one."""
    pairs = enumerate(pairwise(values), 1)
    return [ChangePoint(at, after / before) for at, (before, after) in pairs if after != before]


def noisy(values: Sequence[float], seed: int = 0) -> list[ChangePoint]:
    """Change points of times, all above 0, in their logarithms.

    The same values and `seed` give the same result.
    """
    if len(values) < 2 * MIN_SEGMENT:
        return []
    logs = np.log(np.asarray(values, dtype=np.float64))
    generator = np.random.default_rng(seed)
    cuts = [0, *sorted(_split(logs, 0, len(logs), generator)), len(logs)]
    levels = [float(np.median(logs[a:b])) for a, b in pairwise(cuts)]
    jumps = zip(cuts[1:-1], np.diff(levels), strict=True)
    return [ChangePoint(at, float(np.exp(jump))) for at, jump in jumps]


def _split(
    logs: NDArray[np.float64], begin: int, end: int, generator: np.random.Generator
) -> list[int]:
    """Change points within [begin, end)."""
    part = logs[begin:end]
    if len(part) < 2 * MIN_SEGMENT:
        return []
    at, energy = best_split(part)
    more_extreme = 0
    for _ in range(_PERMUTATIONS):
        more_extreme += best_split(generator.permutation(part))[1] >= energy * (1 - 1e-12)
        if (more_extreme + 1) / (_PERMUTATIONS + 1) >= SIGNIFICANCE:
            return []
    middle = begin + at
    return [
        *_split(logs, begin, middle, generator),
        middle,
        *_split(logs, middle, end, generator),
    ]


def best_split(part: NDArray[np.float64]) -> tuple[int, float]:
    """The split with the largest energy statistic, and that statistic.

    Both the split and the end of the right segment vary. The statistic of segments with m and n
    values is m n / (m + n) times their energy distance: twice the mean distance between the
    segments, minus the mean distances within them (equations 5 and 7, with alpha = 1).
    """
    n = len(part)
    sums = np.zeros((n + 1, n + 1))
    sums[1:, 1:] = np.abs(part[:, None] - part[None, :]).cumsum(0).cumsum(1)
    at, end = _splits(n)
    left, right = at.astype(np.float64), (end - at).astype(np.float64)
    within_left = sums[at, at]
    between = sums[at, end] - within_left
    within_right = sums[end, end] - 2 * between - within_left
    energy = 2 * between / (left * right)
    energy -= within_left / (left * (left - 1)) + within_right / (right * (right - 1))
    statistic = left * right / (left + right) * energy
    best = int(statistic.argmax())
    return int(at[best]), float(statistic[best])


@cache
def _splits(n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """All pairs of a split and the end of its right segment, each segment long enough."""
    at, end = np.triu_indices(n + 1, MIN_SEGMENT)
    is_long = at >= MIN_SEGMENT
    return at[is_long], end[is_long]
