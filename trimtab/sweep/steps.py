"""Where a series of figures steps from one level to another.

E-divisive with means (Matteson and James, "A Nonparametric Approach for Multiple Change Point
Analysis of Multivariate Data", JASA 109, 2014), as MongoDB finds regressions of performance with
it (Daly et al., "The Use of Change Point Detection to Identify Software Performance Regressions in
a Continuous Integration System", ICPE 2020): the split with the largest energy distance between
its sides, for as long as a permutation test calls it no chance. It asks neither for normal noise
nor for how many steps there are. Fewer than eight values cannot be sure of anything at this level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

SIGNIFICANCE = 0.01
LEAST = 3  # values on either side of a step
_PERMUTATIONS = 499


@dataclass(frozen=True)
class Step:
    """From value `at` on the level is another: `ratio` of the median after to that before it, up to
    the steps around.
    """

    at: int
    ratio: float


def exact(values: Sequence[float]) -> list[Step]:
    """Of figures without noise, such as bytes and counts: every change is a step."""
    pairs = enumerate(pairwise(values), 1)
    return [Step(at, after / before) for at, (before, after) in pairs if after != before]


def noisy(values: Sequence[float], seed: int = 0) -> list[Step]:
    """Of times (all above 0), which are looked at by their logarithms. The same values and `seed`
    give the same steps.
    """
    if len(values) < 2 * LEAST:
        return []
    logs = np.log(np.asarray(values, dtype=np.float64))
    generator = np.random.default_rng(seed)
    cuts = [0, *sorted(_split(logs, 0, len(logs), generator)), len(logs)]
    levels = [float(np.median(logs[a:b])) for a, b in pairwise(cuts)]
    jumps = np.diff(levels)
    return [Step(at, float(np.exp(jump))) for at, jump in zip(cuts[1:-1], jumps, strict=True)]


def _split(
    logs: NDArray[np.float64], begin: int, end: int, generator: np.random.Generator
) -> list[int]:
    """Steps within [begin, end)."""
    part = logs[begin:end]
    if len(part) < 2 * LEAST:
        return []
    at, found = _best(part)
    chance = sum(
        _best(generator.permutation(part))[1] >= found * (1 - 1e-12) for _ in range(_PERMUTATIONS)
    )
    if (chance + 1) / (_PERMUTATIONS + 1) >= SIGNIFICANCE:
        return []
    middle = begin + at
    return [
        *_split(logs, begin, middle, generator),
        middle,
        *_split(logs, middle, end, generator),
    ]


def _best(part: NDArray[np.float64]) -> tuple[int, float]:
    """The split with the largest energy statistic, and that: of values before it and those from it
    up to any later place, m n / (m + n) times twice the mean distance between the two, less the
    mean distances within them (equations 5 and 7, with alpha 1).
    """
    n = len(part)
    sums = np.zeros((n + 1, n + 1))
    sums[1:, 1:] = np.abs(part[:, None] - part[None, :]).cumsum(0).cumsum(1)
    at, upto = _pairs(n)
    left, right = at.astype(np.float64), (upto - at).astype(np.float64)
    within_left = sums[at, at]
    between = sums[at, upto] - within_left
    within_right = sums[upto, upto] - 2 * between - within_left
    energy = 2 * between / (left * right)
    energy -= within_left / (left * (left - 1)) + within_right / (right * (right - 1))
    statistic = left * right / (left + right) * energy
    best = int(statistic.argmax())
    return int(at[best]), float(statistic[best])


@cache
def _pairs(n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Every split, with every later place that has LEAST values between."""
    at, upto = np.triu_indices(n + 1, LEAST)
    far = at >= LEAST
    return at[far], upto[far]
