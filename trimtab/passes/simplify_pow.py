"""Powers with the constant exponents 1 and 2 become their base, and its product with itself."""

from __future__ import annotations

from trimtab.passes._graph import Graph
from trimtab.program import Program

ORDER = 220


def run(program: Program) -> None:
    """Other exponents remain: no kernel is both faster and as exact for every base."""
    graph = Graph(program)
    for op in graph.ops("pow"):
        x, exponent = op.inputs
        if not graph.have_same_shape(x, op.outputs[0]):
            continue
        match graph.scalar(exponent):
            case 1.0:
                graph.bypass(op)
            case 2.0:
                graph.substitute(op, "mul", [x, x])
