"""Times of launches as machines give them, and worse: what statistics of launches are tried on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

RUNS = 20
BASE_NS = 1_500_000


class Machine:
    """Launches one after the other, whose times have

    - an effect of each launch (placement of memory), normal with `launch`;
    - jitter of each run, skewed to the right;
    - `load`: of a neighbor that comes and goes, a Markov chain over runs that lasts for several
      launches, takes up to 60 % and now and then a whole time slice;
    - a slow wander of the clock, autocorrelated over launches.
    """

    def __init__(self, seed: int, *, launch: float = 0.004, load: float = 0.0) -> None:
        self._rng = np.random.default_rng(seed)
        self._launch, self._load = launch, load
        self._busy, self._strength, self._wander = False, 0.0, 0.0

    def launch(self, factor: float = 1.0) -> list[int]:
        """int64 nanoseconds of the runs of the next launch, of a binary that takes `factor`."""
        rng = self._rng
        self._wander = 0.9 * self._wander + rng.normal(0, 0.002)
        share = np.exp(self._wander + rng.normal(0, self._launch) + rng.gamma(0.5, 0.01, RUNS))
        for run in range(RUNS):
            if self._load and rng.random() < 0.02:
                self._busy, self._strength = not self._busy, float(rng.uniform(0.1, 0.6))
            if self._busy:
                share[run] *= 1 + self._load * self._strength * rng.uniform(0.5, 1.5)
                share[run] += 4.0 * (rng.random() < 0.15 * self._load)
        return [int(ns) for ns in BASE_NS * factor * share]

    def sides(
        self, order: Sequence[tuple[int, int]], factor: float
    ) -> tuple[list[list[list[int]]], list[list[list[int]]]]:
        """The runs of each launch of each block of both sides, measured in this order."""
        blocks = max(block for _, block in order) + 1
        a: list[list[list[int]]] = [[] for _ in range(blocks)]
        b: list[list[list[int]]] = [[] for _ in range(blocks)]
        for side, block in order:
            (b if side else a)[block].append(self.launch(factor if side else 1.0))
        return a, b
