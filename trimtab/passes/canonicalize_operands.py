"""Puts the constant operand of commutative operators second, where other passes look for it."""

from __future__ import annotations

from trimtab.passes._graph import Graph
from trimtab.program import Program

ORDER = 110


def run(program: Program) -> None:
    """Two constants cannot meet: they were folded."""
    graph = Graph(program)
    for op in graph.ops("add", "mul", "max", "min"):
        if graph.constant(op.inputs[0]) is not None:
            graph.set_inputs(op, reversed(op.inputs))
