"""Simplification of reshapes and transposes."""

from __future__ import annotations

from collections.abc import Iterable

from trimtab.passes._graph import Graph, is_one_of
from trimtab.program import Op


def keeps_order(graph: Graph, op: Op) -> bool:
    """True if a transpose permutes only dimensions of at most 1, so that no element moves."""
    shape = graph.shape(op.inputs[0])
    return _are_sorted(axis for axis in op.attributes["permutation"] if shape[axis] != 1)


def keeps_shape(graph: Graph, op: Op) -> bool:
    """True if a transpose permutes only dimensions that are 1 in every run."""
    x = op.inputs[0]
    ones = {i for i, n in enumerate(graph.shape(x)) if n == 1 and graph.is_fixed(x, [i])}
    return _are_sorted(axis for axis in op.attributes["permutation"] if axis not in ones)


def _are_sorted(axes: Iterable[int]) -> bool:
    order = [*axes]
    return order == sorted(order)


def merge(graph: Graph, op: Op) -> bool:
    """Merges a reshape with the reshape before it, or a transpose with the transpose before it.

    A transpose that moves no element becomes a reshape. False if nothing changes.
    """
    if op.type == "transpose" and keeps_order(graph, op):
        same = graph.shape(op.outputs[0]) == graph.shape(op.inputs[0])
        if not same or not keeps_shape(graph, op):
            type, values = graph.view(op.inputs[0], op.attributes["permutation"])
            graph.substitute(op, type, op.inputs, values)
            return True
    first = graph.producer(op.inputs[0], op.type) if op.inputs else None
    if first is None or not is_one_of(op, "reshape", "transpose"):
        return False
    values = dict(op.attributes)
    if op.type == "transpose":
        earlier = first.attributes["permutation"]
        values["permutation"] = tuple(earlier[i] for i in values["permutation"])
    graph.substitute(op, op.type, [first.inputs[0]], values)
    return True
