"""As `mse`, with a power of 2.4: what is cut off, a detector's strong values, counts for more
(Wei et al. 2022, QDrop).
"""

from __future__ import annotations

from trimtab.quantization.methods._error_search import least
from trimtab.quantization.observer import Range, Seen

NEEDS_HISTOGRAM = True
_POWER = 2.4


def range_of(seen: Seen) -> Range:
    """With the smallest mean of that power of errors."""
    return least(seen, _POWER)
