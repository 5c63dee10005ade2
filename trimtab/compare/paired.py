"""Paired comparison: the order of interleaved launches, and the ratio of two arms' times.

A block has two launches of each arm, in the order ABBA or BAAB; a coin decides. With three or more
arms it is a random order of all arms, followed by its reverse. Effects that last for a whole block
(memory placement, clock, a constant load) cancel in the block's ratio. Because of the coin, a block
of two identical binaries favors either with the same probability, whatever else the machine does:
changing loads, and correlation between neighboring launches, make an interval wider, not wrong. An
arm's time in a block is the faster of its two launches, since interference only adds time.

The ratio is the trimmed mean of the blocks' log ratios. Its interval is that of Tukey and
McLaughlin (Sankhya A 25, 1963; Wilcox, Introduction to Robust Estimation, section 4.3), which
requires neither normal noise nor many blocks. A bootstrap of five blocks would be too narrow.
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
TRIMMED = 0.2  # share of the blocks to drop at each end
LAUNCHES_PER_BLOCK = 2  # per arm
MIN_LAUNCHES = 10  # per arm, before a difference may be called real
MAX_LAUNCHES = 1000

A, B = 0, 1


@dataclass(frozen=True)
class Effect:
    """The ratio of two arms: `value` is the time of B / the time of A.

    `blocks` is their number, `error` the standard error of the ratio's logarithm.
    """

    value: float
    interval: Interval
    blocks: int
    error: float

    def exceeds(self, floor: float) -> bool:
        """Whether the interval excludes 1, and the ratio differs from 1 by more than `floor`."""
        return not self.interval.low <= 1 <= self.interval.high and abs(self.value - 1) > floor

    def launches_to_detect(self, share: float) -> int:
        """The number of additional launches per arm that would detect a difference of `share`.

        It assumes the same scatter of blocks. 0 if the present launches suffice.
        """
        scatter, target = self.error * math.sqrt(self.blocks), math.log1p(share)
        more = 0
        while more < MAX_LAUNCHES and (
            _quantile(self.blocks + more) * scatter / math.sqrt(self.blocks + more) > target
        ):
            more += 1
        return more * LAUNCHES_PER_BLOCK


def order(launches: int, seed: int, arms: int = 2) -> list[tuple[int, int]]:
    """(arm, block) of each launch, in order; `launches` per arm, rounded up to an even number."""
    coin = random.Random(seed)
    result = []
    for block in range(math.ceil(launches / LAUNCHES_PER_BLOCK)):
        forward = coin.sample(range(arms), arms)
        result += [(arm, block) for arm in (*forward, *reversed(forward))]
    return result


def duets(launches: int, seed: int) -> list[tuple[int, int]]:
    """(arm on the first cores, block) of each pair of simultaneous launches.

    Within a block the arms swap their cores, and a coin decides the first assignment (Bulej et al.,
    Duet Benchmarking, ICPE 2020).
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
    """The ratio of two arms; `a[i]` and `b[i]` are the times of the launches of block i.

    Needs at least two blocks, and times above 0. In a duet, launch j of both arms ran at the same
    time, so their ratio is taken first.
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
    remaining = n - 2 * cut
    winsorized = np.clip(ordered, ordered[cut], ordered[n - 1 - cut])
    error = math.sqrt((n - 1) / (remaining * (remaining - 1)) * float(winsorized.var(ddof=1)))
    return float(ordered[cut : n - cut].mean()), error


def _quantile(blocks: int) -> float:
    return student_t(CONFIDENCE, blocks - 2 * int(TRIMMED * blocks) - 1)


def student_t(confidence: float, degrees: int) -> float:
    """The two-sided quantile of Student's t distribution: P(|T| < t) = `confidence`."""
    low, high = 0.0, 1.0
    while _within(high, degrees) < confidence:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, degrees) < confidence else (low, middle)
    return high


def _within(t: float, degrees: int) -> float:
    """P(|T| < t) for integer degrees of freedom (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
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
