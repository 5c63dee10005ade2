"""Heads of transformers: a box and scores of each query."""

from __future__ import annotations

from trimtab.heads._builder import HeadBuilder


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
    height, width = builder.image_size()
    classes = logits.shape[2]
    builder.boxes(
        [boxes.name, logits.name],
        nms=False,
        parts=2,
        box="center_size",
        scores=scores,
        classes=classes,
        background=classes - 1 if has_background else -1,
        scale=(builder.request.scale[0] * width, builder.request.scale[1] * height),
    )
