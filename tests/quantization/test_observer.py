"""Observers."""

from __future__ import annotations

import numpy as np

from tests.ops.cases.case import Array
from trimtab.quantization.observer import BINS, Observer


def seen(*values: Array) -> Observer:
    """What was seen of these samples, after both looks."""
    found = Observer()
    for value in values:
        found.add_extremes(value)
    for value in values:
        found.add_counts(value)
    return found


# Ranges.


def test_a_histogram_has_an_end_at_zero_and_holds_every_value() -> None:
    values = np.random.default_rng(2).normal(1, 2, 5000).astype(np.float32)
    found = seen(values[:2000], values[2000:])
    edges = found.edges
    assert len(edges) == BINS + 1
    assert 0.0 in edges
    assert edges[0] <= values.min()
    assert edges[-1] >= values.max()
    assert found.histogram[0].sum() == values.size
    wanted, _ = np.histogram(values, edges)
    assert abs(found.histogram[0] - wanted).sum() <= 4  # float32 rounds a few across an end
