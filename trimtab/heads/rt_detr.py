"""RT-DETR and Deformable DETR: as detr, and each class has a sigmoid; there is no class for no
object. Or one output [n, queries, 4 + classes] with boxes and computed sigmoids, or [n, rows, 6] of
boxes that the network has chosen, with center, size, score and class, as exports of Ultralytics
have.
"""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.heads._builder import HeadBuilder
from trimtab.heads._queries import append_joined, append_queries
from trimtab.program import Program


def tensors(program: Program) -> Sequence[str]:
    """The outputs."""
    return program.outputs


def append(builder: HeadBuilder) -> None:
    """Scores are sigmoids."""
    if len(builder.tensors) == 1 and len(builder.tensors[0].shape) == 3:
        append_joined(builder)
    else:
        append_queries(builder, "sigmoid", has_background=False)
