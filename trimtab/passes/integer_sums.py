"""Sums and means of quantised numbers, between integers and integers, are computed of these."""

from __future__ import annotations

from trimtab.passes import _quantised as q
from trimtab.passes._graph import Graph
from trimtab.program import Program

ORDER = 455


def run(program: Program) -> None:
    """Sums of two operands of one shape; means over height and width."""
    graph = Graph(program)
    for op in graph.ops("add", "global_average_pool"):
        operands = op.inputs[:2] if op.type == "add" else op.inputs
        xs = [x.name for name in operands if (x := q.stored(graph, name)) is not None]
        end = q.bounded(graph, op.outputs[0])
        if len(xs) < len(operands) or end is None or not _alike(graph, xs):
            continue
        low, high, last = end
        bounds = q.bounds(low, high, graph.var(last.outputs[0]))
        graph.substitute(last, _INTEGER[op.type], xs, bounds)


_INTEGER = {"add": "qlinear_add", "global_average_pool": "qlinear_mean"}


def _alike(graph: Graph, names: list[str]) -> bool:
    return all(graph.shape(name) == graph.shape(names[0]) for name in names)
