"""The whole range, because a detector may depend on rare extremes; but for the input of an
activation the range with the smallest mean square error of the activation's results.
"""

from __future__ import annotations

from trimtab.quantization.methods._error_search import smallest_error
from trimtab.quantization.observer import Observer, Range

NEEDS_HISTOGRAM = True


def range_of(observer: Observer) -> Range:
    """`mse` of the function's results if a function alone reads the tensor, else `min_max`."""
    return smallest_error(observer, 2.0) if observer.function else observer.whole
