"""The estimated range of all data: each extreme is extended by its distance from the second one
(Robson & Whitlock 1964), which is large for few samples.
"""

from __future__ import annotations

from trimtab.quantization.observer import Observer, Range

NEEDS_HISTOGRAM = False


def range_of(observer: Observer) -> Range:
    """The observed range, extended at both ends."""
    low = sorted(min(0.0, extreme.low) for extreme in observer.extremes)
    high = sorted((max(0.0, extreme.high) for extreme in observer.extremes), reverse=True)
    if len(low) < 2:
        return observer.whole
    return Range(2 * low[0] - low[1], 2 * high[0] - high[1])
