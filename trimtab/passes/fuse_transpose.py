"""A transpose of the right operand of a product of computed matrices becomes its attribute
`transpose_b`: packing reads the operand in either order.
"""

from __future__ import annotations

from trimtab.passes._graph import Graph
from trimtab.program import Op, Program

ORDER = 540


def run(program: Program) -> None:
    """Other dimensions that the transpose exchanges are still moved, in rows that stay whole."""
    graph = Graph(program)
    for op in graph.ops("mat_mul"):
        transpose = graph.producer(op.inputs[1], "transpose")
        if transpose is not None:
            _fuse(graph, op, transpose)


def _fuse(graph: Graph, op: Op, transpose: Op) -> None:
    *outer, row, column = range(len(transpose.attributes["permutation"]))
    permutation = transpose.attributes["permutation"]
    if permutation[row] != column:
        return
    moved = (*permutation[: len(outer)], permutation[column], permutation[row])
    b = transpose.inputs[0]
    if moved != (*outer, row, column):
        new = graph.block.make_op("transpose", [b], {"permutation": moved}, name=transpose.name)
        graph.insert_before(op, new)
        (b,) = new.outputs
    graph.substitute(
        op, "mat_mul", [op.inputs[0], b], {"transpose_b": not op.attributes["transpose_b"]}
    )
