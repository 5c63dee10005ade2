"""Removes swells that change nothing."""

from trimtab.passes import Graph
from trimtab.program import Program

ORDER = 205


def run(program: Program) -> None:
    """Removes the operators whose gain is 0."""
    graph = Graph(program)
    for op in graph.ops("swell"):
        if op.attributes["gain"] == 0:
            graph.bypass(op)
