"""Search for the range with the smallest quantization error.

The error is that of a tensor's values or, if a function is the only reader of the tensor, that of
the function's results.
"""

from __future__ import annotations

import numpy as np

from trimtab.quantization.observer import Array, Observer, Range

_FRACTIONS = np.linspace(1.0, 0.02, 99)  # candidates for each end, as fractions of the whole range
_LEVELS = 255


def smallest_error(observer: Observer, power: float) -> Range:
    """The range with the smallest mean of |error| ** power: shrinks both ends together, then each
    end separately.
    """
    whole = observer.whole
    if observer.counts is None or not observer.counts.any():
        return whole
    errors = _errors(observer, power)
    low = high = int(np.diagonal(errors).argmin())
    for _ in range(2):
        before = low, high
        low = int(errors[:, high].argmin())
        high = int(errors[low].argmin())
        if (low, high) == before:
            break
    return Range(whole.low * float(_FRACTIONS[low]), whole.high * float(_FRACTIONS[high]))


def _errors(observer: Observer, power: float) -> Array:
    """The sum of |error| ** power over the histogram for each pair of candidates: [low, high].

    A value is either clipped, with an error that depends on one end alone, or rounded, with an
    error that depends on the scale alone.
    """
    whole = observer.whole
    counts, centers = observer.histogram
    function = observer.function or (lambda values: values)
    results = function(centers)
    slopes = np.abs(np.gradient(results, centers))
    occupied = counts > 0
    counts, centers, results, slopes = (x[occupied] for x in (counts, centers, results, slopes))
    lows, highs = whole.low * _FRACTIONS, whole.high * _FRACTIONS
    first = np.searchsorted(centers, lows)  # of the bins that are not clipped
    last = np.searchsorted(centers, highs, side="right")
    at_low, at_high = function(lows), function(highs)

    def clipping(bins: slice, bound: float) -> float:
        return float(counts[bins] @ np.abs(results[bins] - bound) ** power)

    below = [clipping(slice(0, n), y) for n, y in zip(first, at_low, strict=True)]
    above = [clipping(slice(n, None), y) for n, y in zip(last, at_high, strict=True)]
    # Rounding errors of a bin's values are spread evenly over half a scale.
    sums = np.concatenate([[0.0], np.cumsum(counts * slopes**power)])
    rounded = np.maximum(sums[last] - sums[first, None], 0.0)
    scales = (highs - lows[:, None]) / _LEVELS
    rounding = rounded * (scales / 2) ** power / (power + 1)
    errors = np.add.outer(below, above) + rounding
    return np.asarray(np.where(scales > 0, errors, np.inf))
