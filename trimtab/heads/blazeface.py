"""BlazeFace, and the detectors of palms and persons like it: reads values [n, places, 4 + 2 *
points] and scores [n, places, 1]: a box and keypoints in pixels, relative to the middle of a cell
of the image; the keypoints are the output `points`. Grids are those of faces in images of 128 x 128
(896 places), 256 x 256 (896) and 192 x 192 (2,304), of palms in 192 x 192 (2,016), and of persons
in 224 x 224 (2,254).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from trimtab.heads._builder import HeadBuilder
from trimtab.heads._chosen import part
from trimtab.program import Program

_GRIDS = (
    ((8, 2), (16, 6)),
    ((16, 2), (32, 6)),
    ((4, 1),),
    ((8, 2), (16, 2), (32, 6)),
)
"""The size of the cells of each grid in pixels, and the boxes of a cell, as SsdAnchorsCalculator of
MediaPipe's graphs makes them: square anchors of one size, two for each layer of a stride.
"""

_HOW = {"parts": 2, "box": "center_size", "scores": "sigmoid", "classes": 1}


def tensors(program: Program) -> Sequence[str]:
    """The outputs."""
    return program.outputs


def append(builder: HeadBuilder) -> None:
    """Boxes, and the keypoints of those that remain."""
    r, by_size = builder.request, {var.shape[-1]: var for var in builder.tensors}
    shapes = [var.shape for var in builder.tensors]
    count = max(by_size, default=0)
    middles = _middles(builder, shapes[0][1]) if [len(s) for s in shapes] == [3, 3] else None
    if middles is None or {*by_size} != {1, count} or count < 4 or count % 2:
        raise builder.invalid("[n, places, 4 + 2 * points] and [n, places, 1] on known grids")
    read = [by_size[count].name, by_size[1].name]
    builder.reads(replace(builder.reading_of(read, _HOW), on_grids=()))
    boxes, scores, index = builder.decoded(read, scale=(1, 1), offset=(0, 0), **_HOW)
    table = builder.constant(middles, "middles")
    at = _rows_of(builder, table, index)
    ends = [builder.add("add", [part(builder, boxes, i, i + 2), at])[0] for i in (0, 2)]
    (boxes,) = builder.add("concat", [*ends, part(builder, boxes, 4, 6)], axis=2)
    boxes = builder.mapped(boxes, [*r.scale * 2, 1, 1], [*r.offset * 2, 0, 0])
    builder.suppressed(boxes, scores, index, iou=r.iou)
    if count > 4:
        _append_points(builder, by_size[count].name, table)


def _append_points(builder: HeadBuilder, values: str, table: str) -> None:
    points = builder.of_selected(values)
    images, rows, count = builder.program.vars[points].shape
    points = part(builder, points, 4, count)
    number = (count - 4) // 2
    (points,) = builder.add("reshape", [points], shape=(images, rows, number, 2))
    at = _rows_of(builder, table, builder.selected)
    (at,) = builder.add("reshape", [at], shape=(images, rows, 1, 2))
    (points,) = builder.add("add", [points, at])
    points = builder.with_sure_scores(points)
    builder.add_points(builder.add("reshape", [points], shape=(images, rows, 3 * number))[0])


def _middles(builder: HeadBuilder, anchors: int) -> NDArray[np.uint8] | None:
    """x and y of the middle of each anchor's cell, in a byte each; None for another number of
    anchors.
    """
    height, width = builder.image_size()
    for grids in _GRIDS:
        rows = []
        for step, count in grids:
            y, x = np.mgrid[: height // step, : width // step] * step + step // 2
            rows.append(np.repeat(np.stack([x, y], -1).reshape(-1, 2), count, 0))
        middles = np.concatenate(rows)
        if len(middles) == anchors and middles.max() < 256:
            return middles.astype(np.uint8)
    return None


def _rows_of(builder: HeadBuilder, table: str, index: str) -> str:
    """Rows of a table [anchors, 2] of bytes as f32[n, rows, 2]."""
    images, rows = builder.program.vars[index].shape
    (flat,) = builder.add("reshape", [index], shape=(images * rows,))
    (picked,) = builder.add("gather", [table, flat], axis=0)
    (picked,) = builder.add("cast", [picked], to="f32")
    return builder.add("reshape", [picked], shape=(images, rows, 2))[0]
