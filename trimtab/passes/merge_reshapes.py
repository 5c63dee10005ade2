"""Consecutive reshapes that the choice of layouts created are merged."""

from __future__ import annotations

from trimtab.passes._graph import Graph
from trimtab.passes._movement import merge
from trimtab.program import Program

ORDER = 710


def run(program: Program) -> None:
    """A free layout conversion and the reshape after it both keep the order in memory."""
    graph = Graph(program)
    for op in graph.ops("reshape"):
        if graph.alive(op):
            merge(graph, op)
