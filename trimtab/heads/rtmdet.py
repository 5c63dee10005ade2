"""RTMDet: reads logits of classes [n, classes, h, w] and distances [n, 4, h, w], in pixels of the
network's input, of each level; distances start from the corner of a cell.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trimtab.heads._builder import HeadBuilder
from trimtab.heads._distance import append_distances
from trimtab.program import Program, Var


def tensors(program: Program) -> Sequence[str]:
    """The outputs."""
    return program.outputs


def append(builder: HeadBuilder) -> None:
    """Boxes of the levels, whose distances are divided by the stride."""
    if any(len(var.shape) != 4 for var in builder.tensors):
        raise builder.invalid("classes and 4 distances [n, c, h, w] of each level")
    # Of four classes and four distances, the classes are first.
    boxes = {var.shape[2:]: var for var in builder.tensors if var.shape[1] == 4}.values()
    tensors = [_in_strides(builder, var) if var in boxes else var for var in builder.tensors]
    append_distances(builder, bins=1, tensors=tensors, scores_first=True, offset=0.0)


def _in_strides(builder: HeadBuilder, distances: Var) -> Var:
    (stride,) = builder.strides([distances.shape[2:]])
    factor = builder.constant(np.full((1, 1, 1, 1), 1 / stride, np.float32), "units")
    (name,) = builder.add("mul", [distances.name, factor])
    return builder.program.vars[name]
