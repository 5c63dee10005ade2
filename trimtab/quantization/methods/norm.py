"""Like `mse` with the exponent 2.4, which weights clipping errors, such as those of a detector's
large values, more (Wei et al. 2022, QDrop).
"""

from __future__ import annotations

from trimtab.quantization.methods._error_search import smallest_error
from trimtab.quantization.observer import Observer, Range

NEEDS_HISTOGRAM = True
_POWER = 2.4


def range_of(observer: Observer) -> Range:
    """Minimizes the mean of |error| ** 2.4."""
    return smallest_error(observer, _POWER)
