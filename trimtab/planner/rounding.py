"""Rounding errors of algorithms, and how large ones a plan may have.

Winograd's tiles and Strassen's quadrants compute sums of products from differences that cancel, so
they round more than the direct algorithm. The errors of operators add up over the depth of a
network, and the first ones are amplified by all others; docs/precision.md has figures.
"""

from __future__ import annotations

import sys

from trimtab.program import Program

ACCURACIES = ("balanced", "strict", "fast")
"""How exact the float32 operators of a plan have to be, the default first."""

_BOUNDS = {"balanced": 3.0, "strict": 1.0, "fast": sys.float_info.max}
"""All are finite: integers allow no error (`is_integer`), whatever the accuracy."""


def bound(accuracy: str) -> float:
    """The largest rounding error of an operator's algorithm under one of ACCURACIES, as a ratio of
    root mean squares beside the direct algorithm.
    """
    return _BOUNDS[accuracy]


def is_integer(program: Program, name: str) -> bool:
    """Whether a float32 result becomes integers before anything computes with it, such as the sums
    of integer products: a rounding error changes them by 1, and the direct algorithm has none.
    """
    reader = program.sole_reader(name)
    while reader is not None and (
        reader.schema.kind == "movement" or reader.type == "convert_layout"
    ):
        reader = program.sole_reader(reader.outputs[0])
    return reader is not None and reader.type == "cast" and reader.attributes["to"][0] in "iu"
