"""SCRFD, InsightFace's detector of faces: reads scores [places, 1], distances [places, 4] and, if
there are any, keypoints [places, 10] of the strides 8, 16 and 32, with two boxes in each cell. The
values are in units of the stride from its corner; the keypoints are the output `points`.
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
    """Boxes, and the keypoints of those that remain."""
    append_faces(builder, scores=1, per_place=2, box="distance", cell_offset=0.0)
