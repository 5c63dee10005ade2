"""All but one value in a hundred thousand, half of them at either end."""

from __future__ import annotations

import numpy as np

from trimtab.quantization.observer import Range, Seen

NEEDS_HISTOGRAM = True
_CUT = 1e-5


def range_of(seen: Seen) -> Range:
    """Quantiles of the histogram, with 0."""
    counts, _ = seen.histogram
    total = counts.sum()
    if not total:
        return seen.whole
    share = np.cumsum(counts) / total
    edges = seen.edges
    least = edges[int(np.searchsorted(share, _CUT / 2, side="right"))]
    most = edges[min(int(np.searchsorted(share, 1 - _CUT / 2)) + 1, len(edges) - 1)]
    whole = seen.whole
    return Range(min(max(float(least), whole.least), 0.0), max(min(float(most), whole.most), 0.0))
