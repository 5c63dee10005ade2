"""YOLOv8-pose and YOLO11-pose: reads the output [n, 4 + classes + 3 * points, places]; the
keypoints are the output `points`, [n, rows, points, 3] with x, y and score. One class unless
`classes` is given.
"""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.heads._builder import HeadBuilder
from trimtab.program import Program


def tensors(program: Program) -> Sequence[str]:
    """The outputs."""
    return program.outputs


def append(builder: HeadBuilder) -> None:
    """Boxes, and the keypoints of those that remain."""
    (x, *others), classes = builder.tensors, builder.request.classes or 1
    channels = x.shape[1] if len(x.shape) == 3 else 0
    count = channels - 4 - classes
    if others or count < 3 or count % 3:
        raise builder.invalid("[n, 4 + classes + 3 * points, places]")
    builder.boxes(
        [x.name], box="center_size", channels_first=True, score_channel=4, classes=classes
    )
    starts, ends = (4 + classes,), (channels,)
    (points,) = builder.add("slice", [x.name], starts=starts, ends=ends, axes=(1,))
    builder.add_points(builder.of_selected(points, axis=2))
