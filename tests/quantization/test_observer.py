"""Observers."""

from __future__ import annotations

import numpy as np

from tests.quantization.small import seen
from trimtab.quantization.observer import BINS

# Ranges.


def test_a_histogram_has_an_edge_at_zero_and_counts_every_value() -> None:
    values = np.random.default_rng(2).normal(1, 2, 5000).astype(np.float32)
    result = seen(values[:2000], values[2000:])
    edges = result.edges
    assert len(edges) == BINS + 1
    assert 0.0 in edges
    assert edges[0] <= values.min()
    assert edges[-1] >= values.max()
    assert result.histogram[0].sum() == values.size
    expected, _ = np.histogram(values, edges)
    assert abs(result.histogram[0] - expected).sum() <= 4  # float32 rounds a few across an end
