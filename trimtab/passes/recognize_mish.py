"""`ln(exp(x) + 1)` becomes softplus, and `x tanh(softplus(x))` becomes mish."""

from __future__ import annotations

from trimtab.passes._graph import Graph
from trimtab.passes._match import is_line, near, operand, pairs, products
from trimtab.program import Op, Program

ORDER = 330


def run(program: Program) -> None:
    """Recognizes softplus first, because mish contains it."""
    graph = Graph(program)
    for op in graph.ops("log"):
        sum_ = graph.producer(op.inputs[0], "add")
        for term in sum_.inputs if sum_ else ():
            x = operand(graph, term, "exp")
            if x and is_line(graph, op.inputs[0], term, 1, 1):
                graph.substitute(op, "softplus", [x])
                break
    for op in graph.ops("mul"):
        if graph.alive(op) and (x := _argument(graph, op)):
            graph.substitute(op, "mish", [x])


def _argument(graph: Graph, op: Op) -> str:
    for product in products(graph, op.outputs[0]):
        for x, gate in pairs(product):
            softplus = operand(graph, gate, "tanh")
            if near(product.scale, 1) and softplus and operand(graph, softplus, "softplus") == x:
                return x
    return ""
