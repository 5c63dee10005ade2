"""The average of the samples' extremes, in which later ones count more (Jacob et al. 2018, 3.1)."""

from __future__ import annotations

from trimtab.quantization.observer import Range, Seen

NEEDS_HISTOGRAM = False
_KEPT = 0.99  # of the average, at each sample, as onnxruntime has it


def range_of(seen: Seen) -> Range:
    """The exponential average over the samples, with 0."""
    first, *rest = seen.extremes or [Range(0.0, 0.0)]
    least, most = first.least, first.most
    for found in rest:
        least = _KEPT * least + (1 - _KEPT) * found.least
        most = _KEPT * most + (1 - _KEPT) * found.most
    return Range(min(least, 0.0), max(most, 0.0))
