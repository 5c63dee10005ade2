"""A transpose of the right operand of a product of computed matrices becomes its attribute
`transpose_b`: packing reads the operand in either order. A reshape may follow it that leaves the
matrices as they are.
"""

from __future__ import annotations

from trimtab.passes._graph import Graph
from trimtab.program import Op, Program

ORDER = 540


def run(program: Program) -> None:
    """Other dimensions that the transpose exchanges are still moved, in rows that stay whole."""
    graph = Graph(program)
    for op in graph.ops("mat_mul"):
        view = graph.producer(op.inputs[1], "reshape")
        transpose = graph.producer(view.inputs[0] if view else op.inputs[1], "transpose")
        if transpose is not None and view is not None:
            _fuse_behind(graph, op, transpose, view)
        elif transpose is not None:
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
    _read(graph, op, b)


def _fuse_behind(graph: Graph, op: Op, transpose: Op, view: Op) -> None:
    """Like `_fuse`, where exporters merge the dimensions before the matrices to transpose them."""
    *batch, rows, columns = graph.shape(view.outputs[0])
    permutation, last = transpose.attributes["permutation"], len(graph.shape(view.inputs[0])) - 1
    is_transposed = tuple(permutation) == (*range(last - 1), last, last - 1)
    if not is_transposed or graph.shape(view.inputs[0])[-2:] != (rows, columns):
        return
    values = {"shape": (*batch, columns, rows)}
    new = graph.block.make_op("reshape", [transpose.inputs[0]], values, name=view.name)
    graph.insert_before(op, new)
    _read(graph, op, new.outputs[0])


def _read(graph: Graph, op: Op, b: str) -> None:
    """Makes the product read `b`, whose matrices are the transposed ones."""
    values = {"transpose_b": not op.attributes["transpose_b"]}
    graph.substitute(op, "mat_mul", [op.inputs[0], b], values)
