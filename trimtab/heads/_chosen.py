"""Boxes that the network has chosen itself: rows of corners, score, class and further values, in
any order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from trimtab.heads._builder import HeadBuilder
from trimtab.heads._reading import Reading, Values
from trimtab.program import Var

VALUES = 6
"""The values of a row before further ones."""

_LOW = -1.0  # below the scores: of a box of a class that was not asked for


def append_chosen(builder: HeadBuilder, rows: Var, scale: Sequence[float] = ()) -> str:
    """The best boxes of [n, rows, 6 + values]. Returns the further values of those, [n, boxes,
    values], "" if there are none. `scale`: factors of x and y, default: `builder.unit_scale`.
    """
    boxes, count = best_rows(builder, rows)
    index, offset = builder.selected, builder.request.offset
    scale = tuple(scale or builder.unit_scale)
    boxes = builder.mapped(boxes, [*scale * 2, 1, 1], [*offset * 2, 0, 0])
    builder.suppressed(builder.only_used(boxes, count), count, index, iou=1.0)
    if rows.shape[2] == VALUES:
        return ""
    return builder.of_selected(part(builder, rows.name, VALUES, rows.shape[2]))


def best_rows(builder: HeadBuilder, rows: Var) -> tuple[str, str]:
    """The first six values of the best rows of [n, rows, 6 + values], as the network computes them,
    and the number of those that are used; `builder.selected` becomes their numbers.
    """
    r = builder.request
    if r.multi_label:
        raise r.invalid("the network has chosen one class of each box: leave out multi_label")
    is_relative = r.relative or builder.program.hints.relative
    pixels = Values("boxes", rows.name, 2, 0, 4, -math.inf, math.inf, in_pixels=True)
    builder.reads(chosen_reading(builder, rows, () if is_relative else (pixels,)))
    corners, score, number = (part(builder, rows.name, *ends) for ends in ((0, 4), (4, 5), (5, 6)))
    if r.classes:
        limit = builder.constant(np.array(r.classes, np.float32), "classes")
        (is_asked,) = builder.add("compare", [number, limit], relation="less")
        low = builder.constant(np.array(min(_LOW, r.score), np.float32), "low")
        (score,) = builder.add("where", [is_asked, score, low])
    # Only the order: the values are those of the rows.
    most = min(r.candidates or r.max_boxes, r.max_boxes)
    how = {"parts": 2, "box": "corners", "classes": 1, "candidates": most}
    _, count, index = builder.decoded([corners, score], **how)
    builder.selected = index
    return builder.of_selected(part(builder, rows.name, 0, VALUES)), count


def part(builder: HeadBuilder, x: str, start: int, end: int) -> str:
    """Values from `start` to `end` of each row."""
    return builder.add("slice", [x], starts=(start,), ends=(end,), axes=(2,))[0]


def chosen_reading(builder: HeadBuilder, rows: Var, boxes: tuple[Values, ...]) -> Reading:
    """The reading of [n, rows, 6 + values], of which unused rows may be -1; `boxes`: what a run
    must show of the first four values.
    """
    classes = 0 if builder.request.classes else builder.label_count
    last = classes - 1 if classes else math.inf
    return Reading(
        classes=classes,
        rows=rows.shape[1],
        values=(
            Values("scores", rows.name, 2, 4, 5, low=-1.0),
            Values("classes", rows.name, 2, 5, VALUES, low=-1.0, high=last, whole=True),
            *boxes,
        ),
    )
