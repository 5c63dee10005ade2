"""Rounding errors of algorithms, and how large ones a plan may have.

Winograd's tiles and Strassen's quadrants compute sums of products from differences that cancel, so
they round more than the direct algorithm. The errors of operators add up over the depth of a
network, and the first ones are amplified by all others; docs/precision.md has figures.
"""

from __future__ import annotations

import math

ACCURACIES = ("balanced", "strict", "fast")
"""How exact the float32 operators of a plan have to be, the default first."""

_BOUNDS = {"balanced": 3.0, "strict": 1.0, "fast": math.inf}


def bound(accuracy: str) -> float:
    """The largest rounding error of an operator's algorithm under one of ACCURACIES, as a ratio of
    root mean squares beside the direct algorithm.
    """
    return _BOUNDS[accuracy]
