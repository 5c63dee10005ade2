"""Heads of transformers: a box and scores of each query."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.heads._builder import HeadBuilder
from trimtab.heads._reading import Values


def append_queries(builder: HeadBuilder, scores: str, *, has_background: bool) -> None:
    """Boxes of [n, queries, 4], and scores in either order."""
    expected = "boxes [n, queries, 4] and scores [n, queries, classes]"
    tensors = builder.tensors
    if len(tensors) != 2 or any(len(var.shape) != 3 for var in tensors):
        raise builder.invalid(expected)
    fitting = [var.shape[2] == 4 for var in tensors]
    if not any(fitting):
        raise builder.invalid(expected)
    # Exports write the scores first.
    boxes, logits = tensors if fitting == [True, False] else tensors[::-1]
    classes = logits.shape[2]
    builder.boxes(
        [boxes.name, logits.name],
        nms=False,
        values=[_relative(boxes.name)],
        parts=2,
        box="center_size",
        scores=scores,
        classes=classes,
        background=classes - 1 if has_background else -1,
        scale=_scale(builder),
    )


def append_joined(builder: HeadBuilder) -> None:
    """Boxes of one tensor [n, queries, 4 + classes], whose scores are probabilities."""
    (rows,) = builder.tensors
    classes = builder.request.classes or rows.shape[2] - 4
    if not 0 < classes <= rows.shape[2] - 4:
        raise builder.invalid("[n, queries, 4 + classes]")
    builder.boxes(
        [rows.name],
        nms=False,
        values=[_relative(rows.name)],
        box="center_size",
        score_channel=4,
        classes=classes,
        scale=_scale(builder),
    )


def _relative(tensor: str) -> Values:
    return Values("boxes relative to the image", tensor, 2, 0, 4)


def _scale(builder: HeadBuilder) -> Sequence[float]:
    height, width = builder.image_size()
    return builder.request.scale[0] * width, builder.request.scale[1] * height
