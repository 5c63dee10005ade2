"""FCOS: reads logits of classes [n, classes, h, w], distances [n, 4, h, w] in units of the stride
and logits of the centerness [n, 1, h, w] of each level; a score is the root of their product.
"""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.heads._builder import HeadBuilder
from trimtab.heads._reading import Reading
from trimtab.program import Program


def tensors(program: Program) -> Sequence[str]:
    """The outputs."""
    return program.outputs


def append(builder: HeadBuilder) -> None:
    """Boxes of the levels, whose scores become roots before the suppression."""
    pictures = [var for var in builder.tensors if len(var.shape) == 4]
    grids = sorted({var.shape[2:] for var in pictures}, key=lambda grid: -grid[0])
    levels = [[var for var in pictures if var.shape[2:] == grid] for grid in grids]
    classes = max((var.shape[1] for var in pictures if var.shape[1] not in (1, 4)), default=0)
    classes = builder.request.classes or classes
    order = [4, classes, 1]
    if not levels or any(sorted(v.shape[1] for v in level) != sorted(order) for level in levels):
        raise builder.invalid("classes, 4 distances and the centerness [n, c, h, w] of each level")
    if len(set(order)) < 3:
        raise builder.invalid("a number of classes other than 1 or 4; pass classes= for others in")
    by_channels = [{var.shape[1]: var.name for var in level} for level in levels]
    rows = sum(height * width for height, width in grids)
    builder.reads(Reading(classes=classes, rows=rows))
    r = builder.request
    boxes, count, index = builder.add(
        "decode_boxes",
        [level[channels] for level in by_channels for channels in order],
        3,
        parts=3,
        box="distance",
        scores="sigmoid",
        classes=classes,
        objectness_channel=0,
        strides=builder.strides(grids),
        threshold=r.score**2,
        candidates=builder.candidates,
        multi_label=r.multi_label,
        scale=r.scale,
        offset=r.offset,
    )
    columns = []
    for begin, end in ((0, 4), (4, 5), (5, 6)):
        columns += builder.add("slice", [boxes], starts=(begin,), ends=(end,), axes=(2,))
    columns[1:2] = builder.add("sqrt", [columns[1]])
    (rooted,) = builder.add("concat", columns, axis=2)
    builder.suppressed(rooted, count, index, iou=r.iou)
