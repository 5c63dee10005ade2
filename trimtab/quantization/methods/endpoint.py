"""From the least to the largest value that is to be expected: beyond the extreme of all samples by
its distance from the second one (Robson & Whitlock 1964), which few samples leave large.
"""

from __future__ import annotations

from trimtab.quantization.observer import Range, Seen

NEEDS_HISTOGRAM = False


def range_of(seen: Seen) -> Range:
    """The ends that were seen, moved outwards."""
    low = sorted(min(0.0, found.least) for found in seen.extremes)
    high = sorted((max(0.0, found.most) for found in seen.extremes), reverse=True)
    if len(low) < 2:
        return seen.whole
    return Range(2 * low[0] - low[1], 2 * high[0] - high[1])
