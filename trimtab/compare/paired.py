"""Sides in interleaved launches: the order of their launches, and what the times of two say.

A block is two launches of each side, in the order ABBA or BAAB; a coin decides. Of three sides and
more it is any order of them, and then the same backwards. What is the same
for all of a block (memory, clock, a load that stays) falls out of its ratio. Because of the coin, a
block of two equal binaries is as likely to favor either, whatever else the machine does meanwhile:
loads that come and go, and launches that resemble their neighbors, make an interval wider, not
wrong. A side's time in a block is the faster of its two launches, as others only ever add time.

The ratio is the trimmed mean of the blocks' logarithms, its interval that of Tukey and McLaughlin
(Sankhya A 25, 1963; Wilcox, Introduction to Robust Estimation, section 4.3), which asks neither for
normal noise nor for many blocks. A bootstrap of five blocks would be too narrow.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab.results.statistics import Interval

CONFIDENCE = 0.99
TRIMMED = 0.2  # of the blocks, at each end
LAUNCHES_PER_BLOCK = 2  # of each side
MIN_LAUNCHES = 10  # of each side, before a difference may be called real
MOST_LAUNCHES = 1000

A, B = 0, 1


@dataclass(frozen=True)
class Effect:
    """How two sides relate: `value` = time of B / time of A, over so many `blocks`; `error`: the
    standard error of its logarithm.
    """

    value: float
    interval: Interval
    blocks: int
    error: float

    def exceeds(self, floor: float) -> bool:
        """Whether the interval excludes 1, and the ratio is further from it than `floor`."""
        return not self.interval.low <= 1 <= self.interval.high and abs(self.value - 1) > floor

    def launches_to_tell(self, share: float) -> int:
        """How many launches of a side more would tell a difference of `share`, if blocks go on to
        scatter as they did; 0 when these do.
        """
        scatter, wanted = self.error * math.sqrt(self.blocks), math.log1p(share)
        more = 0
        while more < MOST_LAUNCHES and (
            _quantile(self.blocks + more) * scatter / math.sqrt(self.blocks + more) > wanted
        ):
            more += 1
        return more * LAUNCHES_PER_BLOCK


def order(launches: int, seed: int, sides: int = 2) -> list[tuple[int, int]]:
    """(side, block) of each launch in turn, with so many `launches` of each side: an even number,
    or one more.
    """
    coin = random.Random(seed)
    turns = []
    for block in range(math.ceil(launches / LAUNCHES_PER_BLOCK)):
        there = coin.sample(range(sides), sides)
        turns += [(side, block) for side in (*there, *reversed(there))]
    return turns


def duets(launches: int, seed: int) -> list[tuple[int, int]]:
    """(side on the first cores, block) of each pair of launches at the same moment: within a block
    the sides swap their cores, and a coin decides who begins where (Bulej et al., Duet
    Benchmarking, ICPE 2020).
    """
    coin = random.Random(seed)
    pairs = []
    for block in range(math.ceil(launches / LAUNCHES_PER_BLOCK)):
        first = coin.choice((A, B))
        pairs += [(first, block), (1 - first, block)]
    return pairs


def effect(
    a: Sequence[Sequence[float]], b: Sequence[Sequence[float]], *, is_duet: bool = False
) -> Effect:
    """The ratio of two sides. `a[i]`, `b[i]`: the times of the launches of block i (two blocks at
    least, no time of 0). In a duet launch j of both was at the same moment: their ratio is taken
    before any other.
    """
    pairs = zip(a, b, strict=True)
    if is_duet:
        logs = np.array([np.mean(np.log(y) - np.log(x)) for x, y in pairs])
    else:
        logs = np.array([np.log(min(y)) - np.log(min(x)) for x, y in pairs])
    middle, error = _trimmed(logs)
    half = _quantile(len(logs)) * error
    interval = Interval(math.exp(middle - half), math.exp(middle + half))
    return Effect(math.exp(middle), interval, len(logs), error)


def _trimmed(logs: NDArray[np.float64]) -> tuple[float, float]:
    """The trimmed mean and its standard error, from the winsorized variance."""
    n, cut = len(logs), int(TRIMMED * len(logs))
    ordered = np.sort(logs)
    kept = n - 2 * cut
    winsorized = np.clip(ordered, ordered[cut], ordered[n - 1 - cut])
    error = math.sqrt((n - 1) / (kept * (kept - 1)) * float(winsorized.var(ddof=1)))
    return float(ordered[cut : n - cut].mean()), error


def _quantile(blocks: int) -> float:
    return student_t(CONFIDENCE, blocks - 2 * int(TRIMMED * blocks) - 1)


def student_t(confidence: float, degrees: int) -> float:
    """The t that Student's distribution stays within, on both sides, with this probability."""
    low, high = 0.0, 1.0
    while _within(high, degrees) < confidence:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, degrees) < confidence else (low, middle)
    return high


def _within(t: float, degrees: int) -> float:
    """P(|T| < t) for whole degrees (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    angle = math.atan(t / math.sqrt(degrees))
    sine, cosine = math.sin(angle), math.cos(angle)
    first = cosine if degrees % 2 else 1.0
    term, total = first, 0.0
    for k in range(2 + degrees % 2, degrees + 1, 2):
        total += term
        term *= cosine**2 * (k - 1) / k
    if degrees % 2:
        return (angle + sine * total) * 2 / math.pi
    return sine * total
