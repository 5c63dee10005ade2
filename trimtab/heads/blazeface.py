"""BlazeFace: reads values [1, 896, 16], scores [1, 896, 1] of an image of 128 x 128: a box and six
keypoints in pixels, relative to the middle of a cell of 8 or 16 pixels; the keypoints are the
output `points`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trimtab.heads._builder import HeadBuilder
from trimtab.program import Program

CELLS = ((8, 2), (16, 6))
"""The size of a cell in pixels, and its number of boxes."""
POINTS = 6


def tensors(program: Program) -> Sequence[str]:
    """The outputs."""
    return program.outputs


def append(builder: HeadBuilder) -> None:
    """Boxes, and the keypoints of those that remain."""
    height, width = builder.image_size()
    middles = []
    for step, count in CELLS:
        y, x = (np.mgrid[: height // step, : width // step] + 0.5) * step
        middles.append(np.repeat(np.stack([x, y], -1).reshape(-1, 2), count, 0))
    middle = np.concatenate(middles).astype(np.float32)
    by_size = {var.shape[-1]: var for var in builder.tensors if len(var.shape) == 3}
    values, places = 4 + 2 * POINTS, len(middle)
    if sorted(by_size) != [1, values] or {v.shape[1] for v in by_size.values()} != {places}:
        raise builder.invalid(f"[1, {places}, {values}] and [1, {places}, 1]")
    zeros = np.zeros((places, 2), np.float32)
    moves = np.concatenate([middle, zeros, *[middle] * POINTS], 1)[None]
    (moved,) = builder.add("add", [by_size[values].name, builder.constant(moves, "middles")])
    builder.boxes([moved, by_size[1].name], parts=2, box="center_size", scores="sigmoid", classes=1)
    selected = builder.of_selected(moved)
    rows = builder.program.vars[selected].shape[1]
    (points,) = builder.add("slice", [selected], starts=(4,), ends=(values,), axes=(2,))
    (points,) = builder.add("reshape", [points], shape=(1, rows, POINTS, 2))
    ones = builder.constant(np.ones((1, rows, POINTS, 1), np.float32), "ones")
    (points,) = builder.add("concat", [points, ones], axis=3)
    (points,) = builder.add("reshape", [points], shape=(1, rows, 3 * POINTS))
    builder.add_points(points)
