"""Detectors of TFLite whose last operator is TFLite_Detection_PostProcess, such as SSD MobileNet
and EfficientDet-Lite: reads boxes [n, rows, 4], y before x and relative to the image, classes and
scores [n, rows] and the number of rows [n], in this order. Nothing is suppressed again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trimtab.heads._builder import HeadBuilder
from trimtab.heads._chosen import append_chosen
from trimtab.heads._reading import Reading, Values
from trimtab.program import Program

_SWAPPED = np.array([1, 0, 3, 2], np.int64)


def tensors(program: Program) -> Sequence[str]:
    """The outputs."""
    return program.outputs


def append(builder: HeadBuilder) -> None:
    """The rows above the threshold, in pixels."""
    shapes = [var.shape for var in builder.tensors]
    images, rows = shapes[0][:2] if shapes and len(shapes[0]) == 3 else (0, 0)
    if shapes != [(images, rows, 4), (images, rows), (images, rows), (images,)]:
        raise builder.invalid("boxes [n, rows, 4], classes and scores [n, rows], and counts [n]")
    boxes, classes, scores, _ = (var.name for var in builder.tensors)
    last = builder.label_count - 1 if builder.label_count else np.inf
    builder.reads(
        Reading(
            classes=builder.label_count,
            rows=rows,
            values=(
                Values("scores", scores, 1, 0, rows),
                Values("classes", classes, 1, 0, rows, high=last, whole=True),
            ),
        )
    )
    order = builder.constant(_SWAPPED, "order")
    (corners,) = builder.add("gather", [boxes, order], axis=2)
    height, width = builder.image_size()
    corners = builder.mapped(corners, [width, height] * 2, [0] * 4)
    columns = [
        builder.add("reshape", [name], shape=(images, rows, 1))[0] for name in (scores, classes)
    ]
    (joined,) = builder.add("concat", [corners, *columns], axis=2)
    append_chosen(builder, builder.program.vars[joined])
