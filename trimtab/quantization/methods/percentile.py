"""The range without outliers: one value in 100,000 is clipped, half of them at each end."""

from __future__ import annotations

import numpy as np

from trimtab.quantization.observer import Observer, Range

NEEDS_HISTOGRAM = True
_CLIPPED = 1e-5


def range_of(observer: Observer) -> Range:
    """Quantiles of the histogram, extended to contain 0."""
    counts, _ = observer.histogram
    total = counts.sum()
    if not total:
        return observer.whole
    cumulative = np.cumsum(counts) / total
    edges = observer.edges
    low = edges[int(np.searchsorted(cumulative, _CLIPPED / 2, side="right"))]
    last = int(np.searchsorted(cumulative, 1 - _CLIPPED / 2)) + 1
    high = edges[min(last, len(edges) - 1)]
    whole = observer.whole
    return Range(min(max(float(low), whole.low), 0.0), max(min(float(high), whole.high), 0.0))
