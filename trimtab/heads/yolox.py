"""YOLOX: the cell is the anchor. Reads the output [n, places, 5 + classes] on grids of stride 8, 16
and 32, or the convolutions of boxes, objectness and classes before it.
"""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.heads._anchors import FIRST_CLASS
from trimtab.heads._builder import HeadBuilder
from trimtab.heads._trace import raw_tensors, stride
from trimtab.program import Program, Var

STRIDES = (8, 16, 32)


def tensors(program: Program) -> Sequence[str]:
    """Boxes, classes and objectness of each level, if they are found behind a single output."""
    if len(program.outputs) != 1:
        return program.outputs
    output = program.vars[program.outputs[0]]
    if len(output.shape) != 3:
        return program.outputs
    classes = output.shape[2] - FIRST_CLASS
    levels: dict[int, dict[int, Var]] = {}
    raw = raw_tensors(program, output.name)
    for var in raw:
        levels.setdefault(stride(program, var), {})[var.shape[1]] = var
    kinds = [4, classes, 1]  # the channels of boxes, classes and objectness
    complete = all(set(level) == set(kinds) for level in levels.values())
    if not complete or len(set(kinds)) < 3 or len(raw) != 3 * len(levels) or not raw:
        return program.outputs
    return [level[kind].name for _, level in sorted(levels.items()) for kind in kinds]


def append(builder: HeadBuilder) -> None:
    """Boxes of the output, or of three tensors of each level."""
    if len(builder.tensors) == 1:
        _append_rows(builder, builder.tensors[0])
        return
    levels = [builder.tensors[i : i + 3] for i in range(0, len(builder.tensors), 3)]
    if any(len(var.shape) != 4 for var in builder.tensors) or len(levels[-1]) != 3:
        raise builder.invalid("boxes, classes and objectness [n, c, h, w] of each level")
    builder.boxes(
        [var.name for var in builder.tensors],
        box="cell",
        parts=3,
        scores="sigmoid",
        classes=builder.request.classes or levels[0][1].shape[1],
        objectness_channel=0,
        strides=builder.strides([level[0].shape[2:] for level in levels]),
    )


def _append_rows(builder: HeadBuilder, output: Var) -> None:
    height, width = builder.image_size()
    grids = [(height // step, width // step) for step in STRIDES]
    classes = output.shape[-1] - FIRST_CLASS
    if len(output.shape) != 3 or output.shape[1] != sum(h * w for h, w in grids) or classes < 1:
        raise builder.invalid("[n, places, 5 + classes] on grids of stride 8, 16 and 32")
    builder.boxes(
        [output.name],
        box="cell",
        classes=builder.request.classes or classes,
        objectness_channel=FIRST_CLASS - 1,
        score_channel=FIRST_CLASS,
        strides=STRIDES,
        grids=[size for grid in grids for size in grid],
    )
