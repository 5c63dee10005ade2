"""Detectors of faces whose boxes and keypoints are relative to the corner of a cell of the grids of
stride 8, 16 and 32: reads tensors [n, places, values], or [places, values], of each stride.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from trimtab.heads._builder import HeadBuilder
from trimtab.heads._reading import Reading, Values
from trimtab.program import Var

STRIDES = (8, 16, 32)
_SCORE, _BOX, _POINTS = 1, 4, 10
"""The values of each kind of tensor: those of a box's score, its sides, and of five keypoints."""


def append_faces(builder: HeadBuilder, scores: int, per_place: int, **how: Any) -> None:
    """Boxes, and the keypoints of those that remain, if there are tensors of keypoints.

    `scores`: the tensors of scores of a stride; of two, the score is the root of the product.
    `per_place`: boxes of a cell. `how`: attributes of decode_boxes.
    """
    height, width = builder.image_size()
    grids = [(-(-height // step), -(-width // step)) for step in STRIDES]
    locations = [h * w * per_place for h, w in grids]
    tensors, rows = _by_kind(builder, locations, scores), sum(locations)
    proven = tuple(
        Values("scores", var.name, len(var.shape) - 1, 0, 1)
        for level in tensors[_SCORE]
        for var in level
    )
    builder.reads(Reading(1, rows=rows, on_grids=(per_place,), values=proven))
    parts = [_joined(builder, [level[i] for level in tensors[_SCORE]]) for i in range(scores)]
    if scores == 2:
        (product,) = builder.add("mul", parts)
        parts = builder.add("sqrt", [product])
    read = [_joined(builder, [level[0] for level in tensors[_BOX]]), *parts]
    images = builder.program.vars[read[0]].shape[0]
    if per_place > 1:  # the boxes of a cell are adjacent
        read = [
            builder.add("reshape", [x], shape=(images, rows // per_place, values * per_place))[0]
            for x, values in zip(read, (_BOX, _SCORE), strict=True)
        ]
    sizes = [size for grid in grids for size in grid]
    builder.boxes(
        read, parts=2, per_place=per_place, classes=1, strides=STRIDES, grids=sizes, **how
    )
    if _POINTS in tensors:
        _append_points(builder, [level[0] for level in tensors[_POINTS]], grids, per_place)


def _by_kind(
    builder: HeadBuilder, locations: Sequence[int], scores: int
) -> dict[int, list[list[Var]]]:
    """The tensors of each stride by the number of their values."""
    by_shape: dict[tuple[int, int], list[Var]] = defaultdict(list)
    for var in builder.tensors:
        if len(var.shape) in (2, 3):
            by_shape[var.shape[-1], var.shape[-2]].append(var)
    counts = {_SCORE: scores, _BOX: 1, _POINTS: 1}
    if not any(values == _POINTS for values, _ in by_shape):
        del counts[_POINTS]
    expected = {(values, n): count for values, count in counts.items() for n in locations}
    if {key: len(of_key) for key, of_key in by_shape.items()} != expected:
        pair = "two tensors" if scores == 2 else "one tensor"
        raise builder.invalid(
            f"{pair} of 1 value, one of 4 and one of 10, for each of "
            f"{', '.join(map(str, locations))} places"
        )
    return {values: [by_shape[values, n] for n in locations] for values in counts}


def _joined(builder: HeadBuilder, levels: Sequence[Var]) -> str:
    """The values of all places, [n, places, values]."""
    names = [var.name for var in levels]
    for i, var in enumerate(levels):
        if len(var.shape) == 2:
            (names[i],) = builder.add("reshape", [var.name], shape=(1, *var.shape))
    return builder.add("concat", names, axis=1)[0]


def _append_points(
    builder: HeadBuilder, levels: Sequence[Var], grids: Sequence[Sequence[int]], per_place: int
) -> None:
    points = builder.of_selected(_joined(builder, levels))
    images, rows, count = builder.program.vars[points].shape
    (points,) = builder.add("reshape", [points], shape=(images, rows, count // 2, 2))
    points = builder.in_cells(points, grids, STRIDES, per_place)
    points = builder.with_sure_scores(points)
    builder.add_points(builder.add("reshape", [points], shape=(images, rows, count // 2 * 3))[0])
