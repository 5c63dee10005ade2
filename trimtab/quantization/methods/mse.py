"""The range with the smallest mean square quantization error (Banner et al. 2019)."""

from __future__ import annotations

from trimtab.quantization.methods._error_search import smallest_error
from trimtab.quantization.observer import Observer, Range

NEEDS_HISTOGRAM = True


def range_of(observer: Observer) -> Range:
    """Minimizes the mean square error."""
    return smallest_error(observer, 2.0)
