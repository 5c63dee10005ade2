"""The range whose integers have the smallest mean square error (Banner et al. 2019, by search)."""

from __future__ import annotations

import numpy as np

from trimtab.quantise.seen import Range, Seen

NEEDS_HISTOGRAM = True
_SHARES = np.linspace(1.0, 0.3, 71)  # of the whole range that are tried at each end
_LEVELS = 255


def range_of(seen: Seen) -> Range:
    """Both ends move in together, then each alone."""
    whole = seen.whole
    counts, middles = seen.histogram
    if not counts.sum():
        return whole

    def error(low: float, high: float) -> float:
        least, most = whole.least * low, whole.most * high
        scale = (most - least) / _LEVELS
        if scale <= 0:
            return float("inf")
        inside = np.clip(middles, least, most)
        # Rounding inside of a part is like that of evenly spread values: a twelfth of a step.
        cut = middles - inside
        return float((counts * (cut**2 + np.where(cut == 0, scale**2 / 12, 0))).sum())

    low = high = float(min(_SHARES, key=lambda share: error(share, share)))
    low = float(min(_SHARES, key=lambda share: error(share, high)))
    high = float(min(_SHARES, key=lambda share: error(low, share)))
    return Range(whole.least * low, whole.most * high)
