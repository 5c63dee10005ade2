"""NanoDet-Plus: as nanodet, and the distances start from the corner of a cell."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.heads._builder import HeadBuilder
from trimtab.heads._distance import append_distances, append_flat_distances
from trimtab.heads.nanodet import BINS
from trimtab.program import Program


def tensors(program: Program) -> Sequence[str]:
    """The outputs."""
    return program.outputs


def append(builder: HeadBuilder) -> None:
    """Boxes of the output, whose scores are sigmoids already, or of raw tensors."""
    if all(len(var.shape) == 3 for var in builder.tensors):
        append_flat_distances(builder, BINS, 0.0)
    else:
        append_distances(builder, BINS, scores_first=True, offset=0.0)
