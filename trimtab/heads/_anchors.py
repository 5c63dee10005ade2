"""Heads with anchors: one tensor [n, anchors * (5 + classes), h, w] per level, with box, objectness
and classes of each anchor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trimtab.heads._builder import HeadBuilder
from trimtab.program import Var

FIRST_CLASS = 5  # after the box and the objectness

V3 = (10, 13, 16, 30, 33, 23, 30, 61, 62, 45, 59, 119, 116, 90, 156, 198, 373, 326)
V3_TINY = (10, 14, 23, 27, 37, 58, 81, 82, 135, 169, 344, 319)
V4 = (12, 16, 19, 36, 40, 28, 36, 75, 76, 55, 72, 146, 142, 110, 192, 243, 459, 401)
"""Width and height of anchors in pixels, from the finest level on: three for each level."""

PER_LEVEL = 3


def append_anchors(
    builder: HeadBuilder, box: str, anchors: Mapping[int, Sequence[float]], **attributes: Any
) -> None:
    """Boxes of the tensors. `anchors`: those of the family, by the number of levels."""
    levels = sorted(builder.tensors, key=lambda var: -var.shape[2] if len(var.shape) == 4 else 0)
    sizes = builder.request.anchors or anchors.get(len(levels), ())
    per_place = len(sizes) // (2 * len(levels))
    if not per_place or len(sizes) != 2 * len(levels) * per_place:
        raise builder.invalid(f"{' or '.join(map(str, anchors))} tensors, or anchors=w/h/... for")
    channels = {var.shape[1] if len(var.shape) == 4 else 0 for var in levels}
    classes = builder.request.classes or max(channels) // per_place - FIRST_CLASS
    if channels != {per_place * (FIRST_CLASS + classes)} or classes < 1:
        raise builder.invalid("[n, anchors * (5 + classes), h, w] of each level")
    builder.boxes(
        [var.name for var in levels],
        box=box,
        scores="sigmoid",
        classes=classes,
        per_place=per_place,
        objectness_channel=FIRST_CLASS - 1,
        score_channel=FIRST_CLASS,
        strides=builder.strides([var.shape[2:] for var in levels]),
        anchors=sizes,
        **attributes,
    )


def append_rows(builder: HeadBuilder, output: Var) -> None:
    """Boxes of an output [n, places, 5 + classes] that the network has decoded to pixels."""
    classes = builder.request.classes or output.shape[2] - FIRST_CLASS
    if classes < 1 or output.shape[2] != FIRST_CLASS + classes:
        raise builder.invalid("[n, places, 5 + classes]")
    builder.boxes(
        [output.name],
        on_grids=(1, PER_LEVEL),
        box="center_size",
        classes=classes,
        objectness_channel=FIRST_CLASS - 1,
        score_channel=FIRST_CLASS,
        scale=builder.unit_scale,
    )
