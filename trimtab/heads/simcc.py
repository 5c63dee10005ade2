"""RTMPose and others with SimCC, one person: reads a score for each place along x, [n, points,
columns], and along y, [n, points, rows], with as many places in each pixel. A keypoint is at the
highest ones, and its score is the lower of the two; keypoints are the output `points`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trimtab.heads._builder import COUNT, HeadBuilder
from trimtab.heads._reading import Reading
from trimtab.program import Program


def tensors(program: Program) -> Sequence[str]:
    """The outputs."""
    return program.outputs


def append(builder: HeadBuilder) -> None:
    """The keypoints of the person in each image."""
    shapes = [var.shape for var in builder.tensors]
    height, width = builder.image_size()
    expected = f"[n, points, k * {width}] and [n, points, k * {height}], with a whole number k"
    if [len(shape) for shape in shapes] != [3, 3] or shapes[0][:2] != shapes[1][:2]:
        raise builder.invalid(expected)
    order = builder.tensors if shapes[0][2] * height == shapes[1][2] * width else ()
    order = order or builder.tensors[::-1]  # for a square image, x is first
    images, points, columns = order[0].shape
    steps, rest = divmod(columns, width)
    if rest or not steps or order[1].shape[2] != steps * height:
        raise builder.invalid(expected)
    builder.reads(Reading())  # scores of any value
    values, scores = [], []
    for var in order:
        (place,) = builder.add("arg_max", [var.name], axis=2, keep_dims=True)
        (place,) = builder.add("cast", [place], to="f32")
        unit = builder.constant(np.full((1, 1, 1), 1 / steps, np.float32), "unit")
        values += builder.add("mul", [place, unit])
        scores += builder.add("reduce_max", [var.name], axes=(2,), keep_dims=True)
    values += builder.add("min", scores)
    (joined,) = builder.add("concat", values, axis=2)
    (joined,) = builder.add("reshape", [joined], shape=(images, 1, 3 * points))
    count = builder.constant(np.ones(images, np.int32), COUNT)
    builder.program.outputs = [builder.points_in_frame(joined, count)]
