"""A concat of all results of a split, in order, reads the tensor that was split."""

from __future__ import annotations

from trimtab.passes._graph import Graph
from trimtab.program import Op, Program

ORDER = 210


def run(program: Program) -> None:
    """Networks split a tensor, process one half, and concatenate the result with both halves."""
    graph = Graph(program)
    for op in graph.ops("concat"):
        splits = {id(s): s for n in op.inputs if (s := graph.producer(n, "split"))}
        for split in splits.values():
            _fuse(graph, op, split)
        if len(op.inputs) == 1:
            graph.bypass(op)


def _fuse(graph: Graph, op: Op, split: Op) -> None:
    rank, count = len(graph.shape(op.outputs[0])), len(split.outputs)
    if (op.attributes["axis"] - split.attributes["axis"]) % rank != 0:
        return
    inputs = list(op.inputs)
    for at in reversed(range(len(inputs) - count + 1)):
        if inputs[at : at + count] == split.outputs:
            inputs[at : at + count] = [split.inputs[0]]
    graph.set_inputs(op, inputs)
