"""`x sigmoid(a x)` becomes swish."""

from __future__ import annotations

from trimtab.passes._graph import Graph
from trimtab.passes._match import lines, near, operand, pairs, products
from trimtab.program import Op, Program

ORDER = 320


def run(program: Program) -> None:
    """Tries every multiplication as the root of the formula."""
    graph = Graph(program)
    for op in graph.ops("mul"):
        if graph.alive(op):
            _rewrite(graph, op)


def _rewrite(graph: Graph, op: Op) -> None:
    for product in products(graph, op.outputs[0]):
        for x, gate in pairs(product):
            inside = operand(graph, gate, "sigmoid")
            if not inside or not near(product.scale, 1):
                continue
            for line in lines(graph, inside):
                if line.x == x and line.shift == 0:
                    graph.substitute(op, "swish", [x], {"alpha": line.scale})
                    return
