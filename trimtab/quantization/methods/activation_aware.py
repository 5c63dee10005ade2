"""As `min_max`, for nothing is cut off that a detector may stand on; but before a function as `mse`
of its results: much of what it is given makes no difference to these.
"""

from __future__ import annotations

from trimtab.quantization.methods._error_search import least
from trimtab.quantization.observer import Range, Seen

NEEDS_HISTOGRAM = True


def range_of(seen: Seen) -> Range:
    """The whole range, or the one with the smallest error of a function's results."""
    return least(seen, 2.0) if seen.function else seen.whole
