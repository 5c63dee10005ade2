"""YOLOv3, its tiny form, and Yolo-Fastest: one tensor of each level, [n, 3 * (5 + classes), h, w].
Two levels have the anchors of YOLOv3-tiny, three those of YOLOv3, unless anchors=w/h/... are given.
"""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.heads._anchors import V3, V3_TINY, append_anchors
from trimtab.heads._builder import HeadBuilder
from trimtab.program import Program


def tensors(program: Program) -> Sequence[str]:
    """The outputs."""
    return program.outputs


def append(builder: HeadBuilder) -> None:
    """The size of a box is an exponential function times that of its anchor."""
    append_anchors(builder, "exponential", {2: V3_TINY, 3: V3})
