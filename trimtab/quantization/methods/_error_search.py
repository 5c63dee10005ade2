"""The range whose integers have the smallest error, by search: of the values, or, where a function
of each is all that is read, of its results.
"""

from __future__ import annotations

import numpy as np

from trimtab.quantization.observer import Range, Seen

_SHARES = np.linspace(1.0, 0.02, 99)  # of the whole range that are tried at each end
_LEVELS = 255


def least(seen: Seen, power: float) -> Range:
    """The range with the smallest mean of that power of errors: both ends move in together, then
    each alone.
    """
    whole = seen.whole
    counts, middles = seen.histogram
    if not counts.sum():
        return whole
    function = seen.function or (lambda values: values)
    results = function(middles)
    slopes = np.abs(np.gradient(results, middles))
    held = counts > 0
    counts, middles, results, slopes = (x[held] for x in (counts, middles, results, slopes))

    def error(low: float, high: float) -> float:
        least, most = whole.least * low, whole.most * high
        scale = (most - least) / _LEVELS
        if scale <= 0:
            return float("inf")
        inside = np.clip(middles, least, most)
        # Rounding inside of a part is like that of values spread evenly over half a step.
        cut = np.abs(results - function(inside)) ** power
        rounded = (slopes * scale / 2) ** power / (power + 1)
        return float((counts * np.where(inside == middles, rounded, cut)).sum())

    low = high = float(min(_SHARES, key=lambda share: error(share, share)))
    for _ in range(2):
        ends = low, high
        low = float(min(_SHARES, key=lambda share: error(share, high)))
        high = float(min(_SHARES, key=lambda share: error(low, share)))
        if (low, high) == ends:
            break
    return Range(whole.least * low, whole.most * high)
