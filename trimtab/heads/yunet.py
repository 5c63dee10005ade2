"""YuNet, OpenCV's detector of faces: reads classes and objectness [n, places, 1], boxes [n, places,
4] and keypoints [n, places, 10] of the strides 8, 16 and 32. The score is the root of the product
of class and objectness; the keypoints are the output `points`.
"""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.heads._builder import HeadBuilder
from trimtab.heads._faces import append_faces
from trimtab.program import Program


def tensors(program: Program) -> Sequence[str]:
    """The outputs."""
    return program.outputs


def append(builder: HeadBuilder) -> None:
    """Boxes of cells as YOLOX has them, and the keypoints of those that remain."""
    append_faces(builder, scores=2, per_place=1, box="cell")
