"""The whole observed range: no value is clipped."""

from __future__ import annotations

from trimtab.quantization.observer import Observer, Range

NEEDS_HISTOGRAM = False


def range_of(observer: Observer) -> Range:
    """The smallest to the largest value, and 0."""
    return observer.whole
