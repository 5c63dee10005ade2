"""YOLOv10 and YOLO26, which need no suppression: reads the output [n, rows, 6] of boxes that the
network has chosen; or [n, 4 + classes, places], or raw tensors of each level, as yolov8, with 16
bins or none.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trimtab.heads._builder import BOXES, COUNT, MAPPING, HeadBuilder
from trimtab.heads._distance import BINS, append_distances
from trimtab.heads._request import HeadRequest
from trimtab.program import Program


def tensors(program: Program) -> Sequence[str]:
    """The outputs."""
    return program.outputs


def append(builder: HeadBuilder) -> None:
    """Chosen boxes above the threshold, or decoded ones."""
    shapes = [var.shape for var in builder.tensors]
    if len(shapes) == 1 and len(shapes[0]) == 3 and shapes[0][2] == 6:
        _append_chosen(builder)
    elif len(shapes) == 1 and len(shapes[0]) == 3:
        classes = builder.request.classes or shapes[0][1] - 4
        if not 0 < classes <= shapes[0][1] - 4:
            raise builder.invalid("[n, rows, 6] or [n, 4 + classes, places]")
        builder.boxes(
            [builder.tensors[0].name],
            nms=False,
            box="center_size",
            channels_first=True,
            score_channel=4,
            classes=classes,
        )
    else:
        has_bins = all(len(shape) == 4 and shape[1] >= 4 * BINS for shape in shapes[::2])
        append_distances(builder, BINS if has_bins else 1, nms=False)


def _append_chosen(builder: HeadBuilder) -> None:
    """Rows of corners, score and class, best first: those at or below the threshold become 0."""
    request = builder.request
    if any(getattr(request, name) != getattr(HeadRequest, name) for name in MAPPING):
        raise request.invalid("this network's boxes are only mapped by a camera")
    (x,) = builder.tensors
    starts, ends = (4,), (5,)
    (score,) = builder.add("slice", [x.name], starts=starts, ends=ends, axes=(2,))
    threshold = builder.constant(np.array(request.score, np.float32), "threshold")
    (passes,) = builder.add("compare", [threshold, score], relation="less")
    zero = builder.constant(np.array(0, np.float32), "zero")
    name = BOXES if builder.placement is None else f"{BOXES}.of_input"
    (boxes,) = builder.add("where", [passes, x.name, zero], [name])
    (ones,) = builder.add("cast", [passes], to="f32")
    (total,) = builder.add("reduce_sum", [ones], axes=(1, 2), keep_dims=False)
    (count,) = builder.add("cast", [total], [COUNT], to="i32")
    builder.end(boxes, count)
