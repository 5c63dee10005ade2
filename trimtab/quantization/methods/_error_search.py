"""Search for the range with the smallest quantization error: of the values, or of a function's
results if the function alone reads the tensor.
"""

from __future__ import annotations

import numpy as np

from trimtab.quantization.observer import Observer, Range

_FRACTIONS = np.linspace(1.0, 0.02, 99)  # candidates for each end, as fractions of the whole range
_LEVELS = 255


def smallest_error(observer: Observer, power: float) -> Range:
    """The range with the smallest mean of |error| ** power: shrinks both ends together, then each
    end separately.
    """
    whole = observer.whole
    counts, centers = observer.histogram
    if not counts.sum():
        return whole
    function = observer.function or (lambda values: values)
    results = function(centers)
    slopes = np.abs(np.gradient(results, centers))
    occupied = counts > 0
    counts, centers, results, slopes = (x[occupied] for x in (counts, centers, results, slopes))

    def error(low: float, high: float) -> float:
        lower, upper = whole.low * low, whole.high * high
        scale = (upper - lower) / _LEVELS
        if scale <= 0:
            return float("inf")
        clipped = np.clip(centers, lower, upper)
        # Rounding errors of a bin's values are spread evenly over half a scale.
        clipping = np.abs(results - function(clipped)) ** power
        rounding = (slopes * scale / 2) ** power / (power + 1)
        return float((counts * np.where(clipped == centers, rounding, clipping)).sum())

    low = high = float(min(_FRACTIONS, key=lambda fraction: error(fraction, fraction)))
    for _ in range(2):
        before = low, high
        low = float(min(_FRACTIONS, key=lambda fraction: error(fraction, high)))
        high = float(min(_FRACTIONS, key=lambda fraction: error(low, fraction)))
        if (low, high) == before:
            break
    return Range(whole.low * low, whole.high * high)
