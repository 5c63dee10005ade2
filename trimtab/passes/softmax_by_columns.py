"""A softmax along an axis that is not the last one in memory, or of short rows, becomes
softmax_columns, which computes adjacent columns at once.
"""

from __future__ import annotations

import math

from trimtab.passes._graph import Graph
from trimtab.program import Op, Program

ORDER = 720  # after the layouts are chosen

_FEWEST = 4  # columns; of fewer, gathering the rows is faster
_SHORTEST, _ROWS = 16, 64  # elements of a row that fills vectors; rows that are worth a transpose


def run(program: Program) -> None:
    """Leaves a softmax of few columns or rows, whose vectors would be nearly empty."""
    graph = Graph(program)
    for op in graph.ops("softmax"):
        columns = _columns(graph, op)
        length = graph.shape(op.inputs[0])[op.attributes["axis"]]
        is_short = (
            columns == 1 and length < _SHORTEST and graph.var(op.inputs[0]).count >= _ROWS * length
        )
        if columns >= _FEWEST or is_short:
            graph.substitute(op, "softmax_columns", op.inputs, {"axis": op.attributes["axis"]})


def _columns(graph: Graph, op: Op) -> int:
    """The number of elements between those of a row."""
    var = graph.var(op.inputs[0])
    order = (0, 2, 3, 1) if var.layout == "nhwc" else range(len(var.shape))
    axis = op.attributes["axis"] % len(var.shape)
    later = [*order][[*order].index(axis) + 1 :]
    return math.prod(var.shape[i] for i in later)
