"""A depthwise convolution with several outputs per channel becomes as many convolutions of one
output per channel, whose results are interleaved.
"""

from __future__ import annotations

import numpy as np

from trimtab.passes._graph import Graph
from trimtab.program import Op, Program

ORDER = 620

_MIN_CHANNELS = 8  # fewer leave the vectors of the depthwise kernels half empty


def run(program: Program) -> None:
    """Depthwise kernels and depthwise Winograd then apply. The interleaving is one copy."""
    graph = Graph(program)
    for op in graph.ops("conv"):
        channels, outputs = graph.shape(op.inputs[0])[1], graph.shape(op.outputs[0])[1]
        operands = [name for name in op.inputs[1:3] if name]  # the weights, and the bias if any
        has_constants = all(graph.constant(name) is not None for name in operands)
        if op.attributes["group"] != channels or channels < _MIN_CHANNELS or not has_constants:
            continue
        if outputs > channels and not any(op.inputs[3:]):
            _split(graph, op, outputs // channels)


def _split(graph: Graph, op: Op, factor: int) -> None:
    names = [name for name in op.inputs[1:] if name]  # of the weights, and of the bias if any
    constants = [graph.constant(name) for name in names]
    parts = []
    for i in range(factor):
        own = [np.ascontiguousarray(data[i::factor]) for data in constants if data is not None]
        inputs = [op.inputs[0], *map(graph.block.add_constant, own)]
        parts.append(graph.block.make_op("conv", inputs, dict(op.attributes), 1, op.name))
    joined = [part.outputs[0] for part in parts]
    concat = graph.block.make_op("concat", joined, {"axis": 1}, 1, op.name)
    graph.insert_before(op, *parts, concat)
    graph.substitute(op, "channel_shuffle", concat.outputs, {"group": factor})
