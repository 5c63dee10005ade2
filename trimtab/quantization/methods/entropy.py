"""The symmetric range whose integers tell most of the distribution (Migacz 2017: smallest
Kullback-Leibler divergence).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.quantization.observer import Range, Seen

NEEDS_HISTOGRAM = True
_BINS = 2048
_LEVELS = 128


def range_of(seen: Seen) -> Range:
    """The threshold on magnitudes with the smallest divergence, as far as the values reach."""
    counts, middles = seen.histogram
    whole = seen.whole
    reach = max(-whole.least, whole.most)
    # Exact zeros, of a ReLU, say nothing of where to cut.
    magnitudes = np.abs(middles)
    keep = magnitudes > reach / _BINS
    found, edges = np.histogram(magnitudes[keep], _BINS, (0.0, reach or 1.0), weights=counts[keep])
    if not found.sum():
        return whole
    sizes = range(_LEVELS, _BINS + 1, 8)
    best = min(sizes, key=lambda size: _divergence(found, size))
    threshold = float(edges[best])
    return Range(max(whole.least, -threshold), min(whole.most, threshold))


def _divergence(counts: NDArray[Any], size: int) -> float:
    """Of the first `size` parts, with what lies beyond in the last one, from the same in _LEVELS
    steps.
    """
    wanted = counts[:size].astype(np.float64)
    given = wanted.copy()
    wanted[-1] += counts[size:].sum()
    steps = np.minimum(np.arange(size) * _LEVELS // size, _LEVELS - 1)
    sums = np.bincount(steps, given, _LEVELS)
    filled = np.bincount(steps, given > 0, _LEVELS)
    spread = np.where(given > 0, (sums / np.maximum(filled, 1))[steps], 0.0)
    p, q = wanted / wanted.sum(), spread / max(spread.sum(), 1e-30)
    held = p > 0
    return float((p[held] * np.log(p[held] / np.maximum(q[held], 1e-9))).sum())
