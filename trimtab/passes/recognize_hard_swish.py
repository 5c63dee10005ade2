"""`x hard_sigmoid(x)` and `x clip(x + 3, 0, 6) / 6` become hard_swish, in any order of factors."""

from __future__ import annotations

from trimtab.passes._graph import Graph
from trimtab.passes._match import is_line, near, pairs, products
from trimtab.program import Op, Program

ORDER = 310


def run(program: Program) -> None:
    """Tries every multiplication and division as the root of the formula."""
    graph = Graph(program)
    for op in graph.ops("mul", "div"):
        if graph.alive(op) and (x := _argument(graph, op)):
            graph.substitute(op, "hard_swish", [x])


def _argument(graph: Graph, op: Op) -> str:
    for product in products(graph, op.outputs[0]):
        for x, gate_name in pairs(product):
            gate = graph.producer(gate_name, "hard_sigmoid", "clip")
            if gate is None:
                continue
            alpha, beta = gate.attributes["alpha"], gate.attributes["beta"]
            if gate.type == "hard_sigmoid":
                fits = gate.inputs[0] == x and near(product.scale, 1)
                fits = fits and near(alpha, 1 / 6) and near(beta, 0.5)
            else:
                fits = is_line(graph, gate.inputs[0], x, 1, 3) and near(product.scale, 1 / 6)
                fits = fits and alpha == 0 and near(beta, 6)
            if fits:
                return x
    return ""
