"""YOLOv8-pose and YOLO11-pose: reads the output [n, 4 + classes + 3 * points, places]; or [n, rows,
6 + 3 * points] of boxes that the network has chosen; or the raw tensors of yolov8 and those of the
keypoints: [n, 3 * points, h, w] of each level, or one of all places, [n, 3 * points, places]. The
keypoints are the output `points`, [n, rows, points, 3] with x, y and score, which is 1 if the
model's file says that its keypoints have two values. As many classes as have names, or one, unless
`classes` is given.
"""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.heads._builder import HeadBuilder
from trimtab.heads._chosen import VALUES, append_chosen
from trimtab.heads._distance import (
    BINS,
    append_decoded,
    append_distances,
    levels_behind,
    values_of_locations,
)
from trimtab.heads._trace import image_sizes, on_strides
from trimtab.program import Program, Var

_EXPECTED = (
    "[n, 4 + classes + 3 * points, places] or [n, rows, 6 + 3 * points], or raw tensors of boxes "
    "and classes of each level, and of 3 * points"
)


def tensors(program: Program) -> Sequence[str]:
    """The convolutions of each level, if they are found behind a single output."""
    outputs = [program.vars[name] for name in program.outputs]
    if len(outputs) != 1 or len(outputs[0].shape) != 3:
        return program.outputs
    classes = len(program.hints.labels) or 1
    count = outputs[0].shape[1] - 4 - classes
    return levels_behind(program, outputs[0], (4 * BINS, classes, count)) or program.outputs


def append(builder: HeadBuilder) -> None:
    """Boxes, and the keypoints of those that remain."""
    classes, per_point = builder.request.classes or builder.label_count or 1, _per_point(builder)
    if len(builder.tensors) > 1:
        _append_raw(builder, classes, per_point)
        return
    (x,) = builder.tensors
    channels = x.shape[1] if len(x.shape) == 3 else 0
    if channels and _is_chosen(builder, x, classes, per_point):
        points = append_chosen(builder, x)
    elif _are_points(channels - 4 - classes, per_point):
        append_decoded(builder, x, classes)
        starts, ends = (4 + classes,), (channels,)
        (points,) = builder.add("slice", [x.name], starts=starts, ends=ends, axes=(1,))
        points = builder.of_selected(points, axis=2)
    else:
        raise builder.invalid(_EXPECTED)
    builder.add_points(_with_scores(builder, points, per_point), builder.unit_scale)


def _per_point(builder: HeadBuilder) -> int:
    """The values of a keypoint."""
    return builder.program.hints.point_values or 3


def _with_scores(builder: HeadBuilder, values: str, per_point: int) -> str:
    """Keypoints [n, rows, points * 3] of those with or without scores, which are 1 then."""
    images, rows, count = builder.program.vars[values].shape
    if per_point == 3:
        return values
    shape = (images, rows, count // 2)
    (points,) = builder.add("reshape", [values], shape=(*shape, 2))
    points = builder.with_sure_scores(points)
    return builder.add("reshape", [points], shape=(images, rows, count // 2 * 3))[0]


def _are_points(count: int, per_point: int) -> bool:
    return count >= per_point and count % per_point == 0


def _is_chosen(builder: HeadBuilder, x: Var, classes: int, per_point: int) -> bool:
    """Whether the rows of [n, a, b] are chosen boxes: both forms may have these sizes."""
    _, a, b = x.shape
    is_decoded = _are_points(a - 4 - classes, per_point) and (
        not _are_points(b - VALUES, per_point)
        or any(on_strides(s, b) for s in image_sizes(builder.program))
    )
    return _are_points(b - VALUES, per_point) and not is_decoded


def _append_raw(builder: HeadBuilder, classes: int, per_point: int) -> None:
    """Boxes, and the decoded keypoints of those that remain: twice the offset from the corner of
    the cell, in units of the stride, and the logit of the score, if there is one.
    """
    of_boxes = (4 * BINS + classes, 4 * BINS, classes)
    boxes = [var for var in builder.tensors if len(var.shape) == 4 and var.shape[1] in of_boxes]
    others = [var for var in builder.tensors if var not in boxes]
    if not boxes:
        raise builder.invalid(_EXPECTED)
    grids = append_distances(builder, tensors=boxes)
    raw = values_of_locations(builder, others, grids)
    if raw is None or raw[1] % per_point:
        raise builder.invalid(_EXPECTED)
    values = builder.of_selected(raw[0], axis=2)
    images, rows, count = builder.program.vars[values].shape
    shape = (images, rows, count // per_point, per_point)
    (values,) = builder.add("reshape", [values], shape=shape)

    def part(start: int, end: int) -> str:
        return builder.add("slice", [values], starts=(start,), ends=(end,), axes=(3,))[0]

    places = builder.in_cells(part(0, 2), grids, builder.strides(grids), factor=2)
    if per_point == 3:
        (scores,) = builder.add("sigmoid", [part(2, 3)])
        (places,) = builder.add("concat", [places, scores], axis=3)
    (points,) = builder.add("reshape", [places], shape=(images, rows, count))
    builder.add_points(_with_scores(builder, points, per_point))
