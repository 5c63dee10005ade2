"""Minimum cuts."""

from __future__ import annotations

import numpy as np
import pytest

from trimtab.program.min_cut import SINK, SOURCE, MinCut


@pytest.mark.parametrize("seed", range(20))
def test_a_minimum_cut_is_as_cheap_as_the_best_of_all_cuts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cut, inner = MinCut(), 5
    nodes = [SOURCE, SINK, *(cut.node() for _ in range(inner))]
    edges = []
    for _ in range(14):
        a, b = rng.choice(nodes, 2, replace=False)
        edges.append((int(a), int(b), int(rng.integers(1, 10))))
        cut.add(*edges[-1])

    def cost(side: set[int]) -> int:
        return sum(c for a, b, c in edges if a in side and b not in side)

    sides = [
        {SOURCE, *(n for i, n in enumerate(nodes[2:]) if bits >> i & 1)} for bits in range(2**inner)
    ]
    assert cost(cut.source_side()) == min(map(cost, sides))
