"""`+ - * /` by constants per channel fold into the weights and bias of the convolution or GEMM
before them.
"""

from __future__ import annotations

from trimtab.passes import _channel_affine
from trimtab.passes._graph import Graph
from trimtab.program import Program

ORDER = 510


def run(program: Program) -> None:
    """Some frameworks export a bias as an element-wise addition, for example."""
    graph = Graph(program)
    for op in graph.ops(*_channel_affine.ARITHMETIC):
        x = _channel_affine.operand(graph, op)
        target = _channel_affine.producer(graph, x)
        if target is None:
            continue
        axis = _channel_affine.channel_axis(target) % len(graph.shape(x))
        line = _channel_affine.line(graph, op, axis)
        if line is None:
            continue
        _channel_affine.apply(graph, target, *line)
        _channel_affine.bypass(graph, op)
