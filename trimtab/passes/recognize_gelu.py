"""`x / 2 (1 + erf(x / sqrt 2))`, and its approximation by tanh, become gelu.

Hendrycks & Gimpel 2016, "Gaussian Error Linear Units", section 2.
"""

from __future__ import annotations

import math

from trimtab.passes._graph import Graph
from trimtab.passes._match import is_line, near, operand, pairs, products
from trimtab.program import Op, Program

ORDER = 340


def run(program: Program) -> None:
    """Tries every multiplication and division as the root of the formula."""
    graph = Graph(program)
    for op in graph.ops("mul", "div"):
        if graph.alive(op):
            _rewrite(graph, op)


def _rewrite(graph: Graph, op: Op) -> None:
    for product in products(graph, op.outputs[0]):
        for x, gate in pairs(product):
            sum_ = graph.producer(gate, "add")
            if sum_ is None or not near(product.scale, 0.5):
                continue
            for inner in sum_.inputs:
                if not is_line(graph, gate, inner, 1, 1):
                    continue
                erf, tanh = operand(graph, inner, "erf"), operand(graph, inner, "tanh")
                if erf and is_line(graph, erf, x, math.sqrt(0.5), 0):
                    graph.substitute(op, "gelu", [x])
                    return
                if tanh and _is_tanh_argument(graph, tanh, x):
                    graph.substitute(op, "gelu", [x], {"alpha": 1.0})
                    return


def _is_tanh_argument(graph: Graph, name: str, x: str) -> bool:
    """Matches sqrt(2 / pi) (x + 0.044715 x^3)."""
    for product in products(graph, name):
        if len(product.factors) != 1 or not near(product.scale, math.sqrt(2 / math.pi)):
            continue
        sum_ = graph.producer(product.factors[0], "add")
        if sum_ is not None and x in sum_.inputs:
            a, b = sum_.inputs
            return _is_cubic(graph, b if a == x else a, x)
    return False


def _is_cubic(graph: Graph, name: str, x: str) -> bool:
    for product in products(graph, name):
        if not near(product.scale, 0.044715):
            continue
        if product.factors == (x, x, x):
            return True
        power = graph.producer(product.factors[0], "pow") if len(product.factors) == 1 else None
        if power is not None and power.inputs[0] == x and graph.scalar(power.inputs[1]) == 3:
            return True
    return False
