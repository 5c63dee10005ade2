"""A convolution of a few wide groups becomes one convolution per group.

Winograd's algorithms, which compute one group, then apply. The channels of a group are read from
the pixels of the whole input, and written into those of the whole result, without copies.
"""

from __future__ import annotations

import numpy as np

from trimtab.passes._graph import Graph
from trimtab.program import Op, Program

ORDER = 625

_MAX_GROUPS = 4
_MIN_CHANNELS = 32  # of a group: transforms of fewer take as long as the products that they save


def run(program: Program) -> None:
    """Only windows that Winograd's algorithms compute, and constant weights."""
    graph = Graph(program)
    for op in graph.ops("conv"):
        if _is_split(graph, op):
            _split(graph, op)


def _is_split(graph: Graph, op: Op) -> bool:
    constants = [graph.constant(name) for name in op.inputs[1:3] if name]
    if any(op.inputs[3:]) or any(data is None for data in constants):
        return False
    groups, (c_out, c_in, *window) = op.attributes["group"], graph.shape(op.inputs[1])
    steps = {*op.attributes["strides"], *op.attributes["dilations"]}
    is_wide = min(c_out // groups, c_in) >= _MIN_CHANNELS
    return 1 < groups <= _MAX_GROUPS and is_wide and steps == {1} and {*window} == {3}


def _split(graph: Graph, op: Op) -> None:
    groups = op.attributes["group"]
    names = [name for name in op.inputs[1:] if name]  # of the weights, and of the bias if any
    constants = [graph.constant(name) for name in names]
    sizes = (graph.shape(op.inputs[1])[1],) * groups
    split = graph.block.make_op(
        "split", op.inputs[:1], {"axis": 1, "sizes": sizes}, groups, op.name
    )
    attributes = {**op.attributes, "group": 1}
    parts = []
    for i, x in enumerate(split.outputs):
        own = [np.split(data, groups)[i].copy() for data in constants if data is not None]
        inputs = [x, *map(graph.block.add_constant, own)]
        parts.append(graph.block.make_op("conv", inputs, attributes, 1, op.name))
    graph.insert_before(op, split, *parts)
    joined = [part.outputs[0] for part in parts]
    graph.substitute(op, "concat", joined, {"axis": 1})
