"""DETR: the outputs are scores [n, queries, classes + 1], of which the last is no object, and boxes
[n, queries, 4] relative to the image. Nothing is suppressed.
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
    """Scores are a softmax with a class for no object."""
    append_queries(builder, "softmax", has_background=True)
