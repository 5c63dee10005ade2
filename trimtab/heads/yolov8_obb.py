"""Oriented boxes of YOLOv8-obb, YOLO11-obb and YOLO26-obb: reads the output [n, 4 + classes + 1,
places] with center, size and, last, the angle in radians; or [n, rows, 7] of boxes that the network
has chosen, with center, size, score, class and angle. The output `corners`, f32[n, rows, 4, 2], has
the corners of each box in turn; `boxes` are the upright boxes around them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trimtab.heads._builder import CORNERS, HeadBuilder
from trimtab.heads._chosen import VALUES, best_rows, part
from trimtab.program import Program, Var

_SIGNS = np.array([[1, 1], [1, -1], [-1, -1], [-1, 1]], np.float32).reshape(1, 1, 4, 2)
"""Halves of width and height from the center to each corner, in the order of Ultralytics."""


def tensors(program: Program) -> Sequence[str]:
    """The outputs."""
    return program.outputs


def append(builder: HeadBuilder) -> None:
    """The boxes that remain, and their corners."""
    if len(builder.tensors) != 1 or len(builder.tensors[0].shape) != 3:
        raise builder.invalid("[n, 4 + classes + 1, places] or [n, rows, 7]")
    (x,) = builder.tensors
    is_chosen = x.shape[2] == VALUES + 1
    boxes, angles, count = (_chosen if is_chosen else _selected)(builder, x)
    _append_corners(builder, boxes, angles, count)


def _chosen(builder: HeadBuilder, x: Var) -> tuple[str, str, str]:
    """Center, size, score and class [n, rows, 6] in pixels of the input, angles [n, rows, 1] and
    count of chosen boxes.
    """
    boxes, count = best_rows(builder, x)
    boxes = builder.mapped(boxes, [*builder.unit * 2, 1, 1], [0] * VALUES)
    return boxes, builder.of_selected(part(builder, x.name, VALUES, VALUES + 1)), count


def _selected(builder: HeadBuilder, x: Var) -> tuple[str, str, str]:
    """The same of decoded boxes, which suppress each other."""
    r, last = builder.request, x.shape[1] - 1
    classes = r.classes or last - 4
    if not 0 < classes <= last - 4:
        raise builder.invalid("[n, 4 + classes + 1, places]")
    how = {"box": "center_size", "channels_first": True, "score_channel": 4, "classes": classes}
    builder.reads(replace(builder.reading_of([x.name], how), on_grids=(1,)))
    boxes, count, index = builder.decoded([x.name], scale=builder.unit, offset=(0, 0), **how)
    (angles,) = builder.add("slice", [x.name], starts=(last,), ends=(last + 1,), axes=(1,))
    builder.selected = index
    boxes_left, count, builder.selected = builder.add(
        "suppress_boxes",
        [boxes, count, index, builder.of_selected(angles, axis=2)],
        3,
        iou_threshold=r.iou if r.iou < 1 else 2.0,
        class_agnostic=r.agnostic,
        max_boxes=r.max_boxes,
        rotated=True,
    )
    low, high = part(builder, boxes_left, 0, 2), part(builder, boxes_left, 2, 4)
    center = builder.mapped(builder.add("add", [low, high])[0], [0.5, 0.5], [0, 0])
    (size,) = builder.add("sub", [high, low])
    (boxes,) = builder.add("concat", [center, size, part(builder, boxes_left, 4, 6)], axis=2)
    return boxes, builder.of_selected(angles, axis=2), count


def _append_corners(builder: HeadBuilder, boxes: str, angles: str, count: str) -> None:
    """The outputs, of boxes as center and size in pixels of the input."""
    r, (images, rows, _) = builder.request, builder.program.vars[boxes].shape

    def along(size: str, x: str, y: str, signs: int) -> str:
        """Half a side, from the center on, for each corner: [n, rows, 4, 2]."""
        (sides,) = builder.add("concat", [x, y], axis=2)
        (sides,) = builder.add("mul", [sides, size])
        (sides,) = builder.add("reshape", [sides], shape=(images, rows, 1, 2))
        halves = builder.constant(_SIGNS[..., signs : signs + 1] / 2, "halves")
        return builder.add("mul", [sides, halves])[0]

    ((cosine,), (sine,)) = (builder.add(function, [angles]) for function in ("cos", "sin"))
    (turned,) = builder.add("neg", [sine])
    width = along(part(builder, boxes, 2, 3), cosine, sine, 0)
    height = along(part(builder, boxes, 3, 4), turned, cosine, 1)
    center = part(builder, boxes, 0, 2)
    (center,) = builder.add("reshape", [center], shape=(images, rows, 1, 2))
    (corners,) = builder.add("add", [width, height])
    (corners,) = builder.add("add", [corners, center])
    bounds = [
        builder.add(extreme, [corners], axes=(2,), keep_dims=False)[0]
        for extreme in ("reduce_min", "reduce_max")
    ]
    (around,) = builder.add("concat", [*bounds, part(builder, boxes, 4, VALUES)], axis=2)
    around = builder.mapped(around, [*r.scale * 2, 1, 1], [*r.offset * 2, 0, 0])
    builder.suppressed(builder.only_used(around, count), count, builder.selected, iou=1.0)
    corners = builder.mapped(corners, r.scale, r.offset)
    for op, start in (("mul", 0), ("add", 2)) if builder.placement else ():
        placement = [builder.placement or ""]
        (factors,) = builder.add("slice", placement, starts=(start,), ends=(start + 2,), axes=(0,))
        (corners,) = builder.add(op, [corners, factors])
    shape = (images, rows, 4, 2)
    builder.add_output(builder.add("reshape", [corners], [CORNERS], shape=shape)[0])
