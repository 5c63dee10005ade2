"""UltraFace (Ultra-Light-Fast-Generic-Face-Detector): reads scores [n, places, classes], of which
the first is the background, and corners [n, places, 4] relative to the image.
"""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.heads._builder import HeadBuilder
from trimtab.program import Program, Var


def tensors(program: Program) -> Sequence[str]:
    """The outputs."""
    return program.outputs


def append(builder: HeadBuilder) -> None:
    """Boxes of the decoded outputs."""
    scores, boxes = pair(builder)
    height, width = builder.image_size()
    x, y = builder.request.scale
    builder.boxes(
        [boxes.name, scores.name],
        parts=2,
        box="corners",
        classes=scores.shape[2],
        background=0,
        scale=(x * width, y * height),
    )


def pair(builder: HeadBuilder) -> tuple[Var, Var]:
    """Scores and boxes, in either order."""
    boxes = [var for var in builder.tensors if len(var.shape) == 3 and var.shape[2] == 4]
    scores = [var for var in builder.tensors if len(var.shape) == 3 and var.shape[2] != 4]
    if len(builder.tensors) != 2 or len(boxes) != 1 or boxes[0].shape[1] != scores[0].shape[1]:
        raise builder.invalid("scores [n, places, classes] and boxes [n, places, 4]")
    return scores[0], boxes[0]
