"""RT-DETR and Deformable DETR: as detr, and each class has a sigmoid; there is no class for no
object.
"""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.heads._builder import HeadBuilder
from trimtab.heads._queries import append_queries
from trimtab.program import Program


def tensors(program: Program) -> Sequence[str]:
    """The outputs."""
    return program.outputs


def append(builder: HeadBuilder) -> None:
    """Scores are sigmoids."""
    append_queries(builder, "sigmoid", has_background=False)
