"""NanoDet and PicoDet: no anchors; each side of a box is the mean of 8 bins. Reads the output [n,
places, classes + 32] on grids of stride 8, 16, 32 and, if there are more places, 64; or one tensor
of each level, [n, classes + 32, h, w]; or two, classes and boxes; or those of PaddleDetection, [n,
places, classes] and [n, places, 32] of each level.
"""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.heads._builder import HeadBuilder
from trimtab.heads._distance import append_distances, append_flat_distances
from trimtab.program import Program

BINS = 8
OFFSET = 0.5
"""The place of the point in its cell that distances start from."""


def tensors(program: Program) -> Sequence[str]:
    """The outputs."""
    return program.outputs


def append(builder: HeadBuilder) -> None:
    """Boxes of the output, whose scores are sigmoids already, or of raw tensors."""
    if all(len(var.shape) == 3 for var in builder.tensors):
        append_flat_distances(builder, BINS, OFFSET)
    else:
        append_distances(builder, BINS, scores_first=True, offset=OFFSET)
