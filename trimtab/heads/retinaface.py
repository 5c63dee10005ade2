"""RetinaFace: reads offsets [1, priors, 4], softmaxed scores [1, priors, 2] and keypoints [1,
priors, 10] on grids of stride 8, 16 and 32, with two squares at each place; the keypoints are the
output `points`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trimtab.heads._builder import HeadBuilder
from trimtab.heads._priors import squares
from trimtab.program import Program

VARIANCES = (0.1, 0.1, 0.2, 0.2)
SIDES = {8: (16, 32), 16: (64, 128), 32: (256, 512)}
"""The sides of the squares of each stride, in pixels."""


def tensors(program: Program) -> Sequence[str]:
    """The outputs."""
    return program.outputs


def append(builder: HeadBuilder) -> None:
    """Boxes, and the keypoints of those that remain."""
    by_size = {var.shape[-1]: var for var in builder.tensors if len(var.shape) == 3}
    boxes = squares(*builder.image_size(), SIDES)
    if sorted(by_size) != [2, 4, 10] or {v.shape[1] for v in by_size.values()} != {len(boxes)}:
        raise builder.invalid(f"[1, {len(boxes)}, 4], [1, {len(boxes)}, 2], [1, {len(boxes)}, 10]")
    height, width = builder.image_size()
    sizes = np.array([width, height], np.float32)
    x, y = builder.request.scale
    anchors = builder.constant(boxes, "priors")
    builder.boxes(
        [by_size[4].name, by_size[2].name, anchors],
        parts=2,
        box="prior",
        variances=VARIANCES,
        classes=2,
        background=0,
        scale=(x * width, y * height),
    )
    # Of each keypoint: x, y and the score 1.
    offsets = builder.of_selected(by_size[10].name)
    rows = builder.program.vars[offsets].shape[1]
    (offsets,) = builder.add("reshape", [offsets], shape=(1, rows, 5, 2))
    terms = []
    for values, name in ((boxes[:, 2:] * VARIANCES[0] * sizes, "extent"),
                         (boxes[:, :2] * sizes, "center")):  # fmt: skip
        term = builder.of_selected(builder.constant(values[None].astype(np.float32), name))
        terms += builder.add("reshape", [term], shape=(1, rows, 1, 2))
    (moved,) = builder.add("mul", [offsets, terms[0]])
    (moved,) = builder.add("add", [moved, terms[1]])
    ones = builder.constant(np.ones((1, rows, 5, 1), np.float32), "ones")
    (points,) = builder.add("concat", [moved, ones], axis=3)
    (points,) = builder.add("reshape", [points], shape=(1, rows, 15))
    builder.add_points(points)
