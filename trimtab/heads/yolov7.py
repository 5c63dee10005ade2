"""YOLOv7: as yolov5, with other anchors."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.heads._anchors import V4, append_anchors, append_rows
from trimtab.heads._builder import HeadBuilder
from trimtab.program import Program


def tensors(program: Program) -> Sequence[str]:
    """The outputs."""
    return program.outputs


def append(builder: HeadBuilder) -> None:
    """The size of a raw box is a square times that of its anchor."""
    if len(builder.tensors) == 1 and len(builder.tensors[0].shape) == 3:
        append_rows(builder, builder.tensors[0])
    else:
        append_anchors(builder, "square", {3: V4})
