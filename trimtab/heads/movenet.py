"""MoveNet: reads the keypoints [1, 1, points, 3] of one person, y, x relative to the image, and
score; they are the output `points`, with x before y, in pixels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trimtab.heads._builder import COUNT, POINTS, HeadBuilder
from trimtab.heads._reading import Reading, Values
from trimtab.program import Program


def tensors(program: Program) -> Sequence[str]:
    """The outputs."""
    return program.outputs


def append(builder: HeadBuilder) -> None:
    """Keypoints in pixels, and their count, which is 1."""
    if len(builder.tensors) != 1 or builder.tensors[0].shape[:2] != (1, 1):
        raise builder.invalid("[1, 1, points, 3]")
    (x,) = builder.tensors
    if len(x.shape) != 4 or x.shape[3] != 3:
        raise builder.invalid("[1, 1, points, 3]")
    builder.reads(Reading(values=(Values("scores", x.name, 3, 2, 3),)))
    height, width = builder.image_size()
    order = builder.constant(np.array([1, 0, 2], np.int64), "order")
    (points,) = builder.add("gather", [x.name, order], axis=3)
    scale = builder.constant(np.array([width, height, 1], np.float32), "size")
    name = POINTS if builder.placement is None else f"{POINTS}.of_input"
    (points,) = builder.add("mul", [points, scale], [name])
    count = builder.constant(np.array([1], np.int32), COUNT)
    builder.program.outputs = [builder.in_frame(points, count, POINTS)]
