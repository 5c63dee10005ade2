"""YOLOv4: as yolov3, with other anchors, and centers that reach beyond their cells."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.heads._anchors import V3_TINY, V4, append_anchors
from trimtab.heads._builder import HeadBuilder
from trimtab.program import Program

CENTER_SCALES = {2: (1.05, 1.05), 3: (1.2, 1.1, 1.05)}
"""Factors of the centers, from the finest level on, by the number of levels: scale_x_y of
yolov4-tiny.cfg and yolov4.cfg.
"""


def tensors(program: Program) -> Sequence[str]:
    """The outputs."""
    return program.outputs


def append(builder: HeadBuilder) -> None:
    """The size of a box is an exponential function times that of its anchor."""
    scales = CENTER_SCALES.get(len(builder.tensors), ())
    append_anchors(builder, "exponential", {2: V3_TINY, 3: V4}, center_scales=scales)
