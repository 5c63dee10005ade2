"""CenterNet: reads a heat map of logits [n, classes, h, w], then the sizes and the offsets of boxes
in cells, [n, 2, h, w] each; a box is at each maximum of 3 x 3 cells. Nothing is suppressed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trimtab.heads._builder import HeadBuilder
from trimtab.program import Program


def tensors(program: Program) -> Sequence[str]:
    """The outputs."""
    return program.outputs


def append(builder: HeadBuilder) -> None:
    """Boxes of the maxima."""
    shapes = [var.shape for var in builder.tensors]
    if len(shapes) != 3 or any(len(s) != 4 for s in shapes) or [s[1] for s in shapes[1:]] != [2, 2]:
        raise builder.invalid("a heat map [n, classes, h, w], sizes and offsets [n, 2, h, w]")
    heat, size, offset = (var.name for var in builder.tensors)
    (peak,) = builder.add("max_pool", [heat], kernel_shape=(3, 3), pads=(1, 1, 1, 1))
    (is_peak,) = builder.add("compare", [heat, peak], relation="equal")
    low = builder.constant(np.array(-1e4, np.float32), "low")
    (scores,) = builder.add("where", [is_peak, heat, low])
    (half,) = builder.add("mul", [size, builder.constant(np.array(0.5, np.float32), "half")])
    (before,) = builder.add("sub", [half, offset])
    (after,) = builder.add("add", [half, offset])
    (sides,) = builder.add("concat", [before, after], axis=1)
    builder.boxes(
        [sides, scores],
        nms=False,
        parts=2,
        box="distance",
        scores="sigmoid",
        classes=shapes[0][1],
        cell_offset=0.0,
        strides=builder.strides([shapes[0][2:]]),
        multi_label=True,
    )
