"""Reshapes and transposes: when they do nothing, and how two become one."""

from __future__ import annotations

from trimtab.passes._graph import Graph
from trimtab.program import Op


def keeps_order(graph: Graph, op: Op) -> bool:
    """Whether a transpose moves dimensions of 1 only, so that no element changes its place."""
    shape = graph.shape(op.inputs[0])
    moved = [axis for axis in op.attributes["permutation"] if shape[axis] != 1]
    return moved == sorted(moved)


def join(graph: Graph, op: Op) -> bool:
    """Lets a reshape or transpose read what the one of its type before it reads.

    A transpose that keeps the order becomes a reshape. False when there is nothing to do.
    """
    if op.type == "transpose" and keeps_order(graph, op):
        shape = graph.shape(op.outputs[0])
        if shape != graph.shape(op.inputs[0]):
            graph.substitute(op, "reshape", op.inputs, {"shape": shape})
            return True
    first = graph.producer(op.inputs[0], op.type) if op.inputs else None
    if first is None or op.type not in ("reshape", "transpose"):
        return False
    values = dict(op.attributes)
    if op.type == "transpose":
        earlier = first.attributes["permutation"]
        values["permutation"] = tuple(earlier[i] for i in values["permutation"])
    graph.substitute(op, op.type, [first.inputs[0]], values)
    return True
