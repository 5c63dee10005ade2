"""Joins reshapes that the choice of layouts brought together."""

from __future__ import annotations

from trimtab.passes._graph import Graph
from trimtab.passes._movement import join
from trimtab.program import Program

ORDER = 710


def run(program: Program) -> None:
    """A reshape between layouts and the one after it both keep the order in memory."""
    graph = Graph(program)
    for op in graph.ops("reshape"):
        if graph.alive(op):
            join(graph, op)
