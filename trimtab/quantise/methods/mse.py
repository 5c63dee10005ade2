"""The range whose integers have the smallest mean square error (Banner et al. 2019, by search): of
the values, or, where a function of each is all that is read, of its results.
"""

from __future__ import annotations

import numpy as np

from trimtab.quantise.seen import Range, Seen

NEEDS_HISTOGRAM = True
_SHARES = np.linspace(1.0, 0.02, 99)  # of the whole range that are tried at each end
_LEVELS = 255


def range_of(seen: Seen) -> Range:
    """Both ends move in together, then each alone."""
    whole = seen.whole
    counts, middles = seen.histogram
    if not counts.sum():
        return whole
    function = seen.function or (lambda values: values)
    results = function(middles)
    slopes = np.abs(np.gradient(results, middles))

    def error(low: float, high: float) -> float:
        least, most = whole.least * low, whole.most * high
        scale = (most - least) / _LEVELS
        if scale <= 0:
            return float("inf")
        inside = np.clip(middles, least, most)
        # Rounding inside of a part is like that of evenly spread values: a twelfth of a step.
        cut = results - function(inside)
        rounded = (slopes * scale) ** 2 / 12
        return float((counts * np.where(inside == middles, rounded, cut**2)).sum())

    low = high = float(min(_SHARES, key=lambda share: error(share, share)))
    for _ in range(2):
        low = float(min(_SHARES, key=lambda share: error(share, high)))
        high = float(min(_SHARES, key=lambda share: error(low, share)))
    return Range(whole.least * low, whole.most * high)
