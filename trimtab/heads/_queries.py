"""Heads of transformers: a box and scores of each query."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.heads._builder import HeadBuilder
from trimtab.heads._chosen import VALUES, append_chosen, chosen_reading, part
from trimtab.heads._reading import Values
from trimtab.program import Var


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
    """Boxes of one tensor [n, queries, 4 + classes], whose scores are probabilities; or of boxes
    that the network has chosen, [n, rows, 6].
    """
    (rows,) = builder.tensors
    if rows.shape[2] == VALUES and _has_numbers(builder, rows):
        _append_chosen(builder, rows)
        return
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


def _has_numbers(builder: HeadBuilder, rows: Var) -> bool:
    """Whether the last of six values is the number of a class: other than of two classes, or
    computed from integers.
    """
    if (builder.request.classes or builder.label_count) != VALUES - 4:
        return True
    block = builder.program.block
    op = block.producer(rows.name)
    while op is not None and op.type == "cast":
        op = block.producer(op.inputs[0])
    last = block.producer(op.inputs[-1]) if op is not None and op.type == "concat" else None
    return last is not None and last.type == "cast"


def _append_chosen(builder: HeadBuilder, rows: Var) -> None:
    """Boxes of [n, rows, 6]: center and size, relative to the image, score and class."""
    builder.reads(chosen_reading(builder, rows, (_relative(rows.name),)))
    center, size = part(builder, rows.name, 0, 2), part(builder, rows.name, 2, 4)
    half = builder.mapped(size, (0.5, 0.5), (0, 0))
    ends = [builder.add(op, [center, half])[0] for op in ("sub", "add")]
    (joined,) = builder.add("concat", [*ends, part(builder, rows.name, 4, VALUES)], axis=2)
    append_chosen(builder, builder.program.vars[joined], _scale(builder))


def _relative(tensor: str) -> Values:
    return Values("boxes relative to the image", tensor, 2, 0, 4)


def _scale(builder: HeadBuilder) -> Sequence[float]:
    """Factors of coordinates relative to the image."""
    height, width = builder.image_size()
    return builder.request.scale[0] * width, builder.request.scale[1] * height
