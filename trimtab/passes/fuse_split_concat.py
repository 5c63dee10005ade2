"""A concatenation of all results of a split, one behind the other, reads what was split."""

from __future__ import annotations

from trimtab.passes._graph import Graph
from trimtab.program import Op, Program

ORDER = 210


def run(program: Program) -> None:
    """Networks split a tensor, take one half through layers, and concatenate all there is."""
    graph = Graph(program)
    for op in graph.ops("concat"):
        for cut in {id(c): c for n in op.inputs if (c := graph.producer(n, "split"))}.values():
            _join(graph, op, cut)
        if len(op.inputs) == 1:
            graph.bypass(op)


def _join(graph: Graph, op: Op, cut: Op) -> None:
    rank, count = len(graph.shape(op.outputs[0])), len(cut.outputs)
    if (op.attributes["axis"] - cut.attributes["axis"]) % rank != 0:
        return
    inputs = list(op.inputs)
    for at in reversed(range(len(inputs) - count + 1)):
        if inputs[at : at + count] == cut.outputs:
            inputs[at : at + count] = [cut.inputs[0]]
    graph.set_inputs(op, inputs)
