"""Darknet's layers [yolo] and [region], as this program imports them: reads rows [boxes, 5 +
classes] of each layer, or [n, boxes, 5 + classes]: center and size relative to the image,
objectness, and the score of each class, which is 0 at or below the layer's own threshold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from trimtab.heads._anchors import FIRST_CLASS
from trimtab.heads._builder import HeadBuilder
from trimtab.heads._reading import Reading, Values
from trimtab.program import Program


def tensors(program: Program) -> Sequence[str]:
    """The outputs."""
    return program.outputs


def append(builder: HeadBuilder) -> None:
    """The rows of all layers; scores include the objectness."""
    expected = "rows [boxes, 5 + classes] of each layer, or [n, boxes, 5 + classes]"
    widths = {var.shape[-1] for var in builder.tensors}
    if len(widths) != 1 or {len(var.shape) for var in builder.tensors} not in ({2}, {3}):
        raise builder.invalid(expected)
    classes = widths.pop() - FIRST_CLASS
    if classes < 1 or builder.request.classes not in (0, classes):
        raise builder.invalid(expected)
    last = len(builder.tensors[0].shape) - 1
    builder.reads(
        Reading(
            classes=classes,
            rows=sum(var.shape[-2] for var in builder.tensors),
            values=tuple(
                value
                for var in builder.tensors
                for value in (
                    Values("sizes", var.name, last, 2, 4, high=math.inf),
                    Values("scores", var.name, last, 4, FIRST_CLASS + classes),
                )
            ),
        )
    )
    rows = [
        name
        for var in builder.tensors
        for name in (
            builder.add("reshape", [var.name], shape=(1, *var.shape)) if last == 1 else [var.name]
        )
    ]
    height, width = builder.image_size()
    x, y = builder.request.scale
    builder.boxes(
        rows,
        box="center_size",
        classes=classes,
        score_channel=FIRST_CLASS,
        scale=(x * width, y * height),
    )
