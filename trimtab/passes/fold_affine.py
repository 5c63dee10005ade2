"""`+ - * /` by constants per channel fold into the weights and bias of the convolution or GEMM
before them.
"""

from __future__ import annotations

import numpy as np

from trimtab.passes import _channel_affine
from trimtab.passes._channel_affine import Array
from trimtab.passes._graph import Graph
from trimtab.program import Op, Program

ORDER = 510


def run(program: Program) -> None:
    """Some frameworks export a bias as an element-wise addition, for example."""
    graph = Graph(program)
    for op in graph.ops("add", "sub", "mul", "div", "neg"):
        swapped = op.type == "sub" and graph.constant(op.inputs[0]) is not None
        x = op.inputs[1 if swapped else 0]
        target = _channel_affine.producer(graph, x)
        if target is None or graph.shape(x) != graph.shape(op.outputs[0]):
            continue
        line = _line(graph, op, target, swapped)
        if line is None:
            continue
        _channel_affine.apply(graph, target, *line)
        if swapped:
            graph.set_inputs(op, reversed(op.inputs))
        graph.bypass(op)


def _line(graph: Graph, op: Op, target: Op, swapped: bool) -> tuple[Array, Array] | None:
    """(scale, shift) per channel; None unless the operand is a constant that depends only on it."""
    count = _channel_affine.channels(graph, target)
    ones, zeros = np.ones(count), np.zeros(count)
    if op.type == "neg":
        return -ones, zeros
    constant = graph.constant(op.inputs[0 if swapped else 1])
    vector = None if constant is None else _per_channel(graph, constant, target)
    if vector is None:
        return None
    match op.type:
        case "add":
            return ones, vector
        case "sub":
            return (-ones, vector) if swapped else (ones, -vector)
        case "mul":
            return vector, zeros
        case _:
            return (1 / vector, zeros) if np.all(vector != 0) else None


def _per_channel(graph: Graph, constant: Array, target: Op) -> Array | None:
    """float64[channels] if `constant`, broadcast to the result, depends only on the channel."""
    rank = len(graph.shape(target.outputs[0]))
    axis = _channel_affine.channel_axis(target) % rank
    shape = (1,) * (rank - constant.ndim) + constant.shape
    if any(n != 1 for i, n in enumerate(shape) if i != axis):
        return None
    count = _channel_affine.channels(graph, target)
    return np.broadcast_to(constant.reshape(-1).astype(np.float64), (count,))
