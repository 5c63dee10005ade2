"""Batch normalization folds into the weights and bias of the convolution or GEMM before it."""

from __future__ import annotations

import numpy as np

from trimtab.passes import _channel_affine
from trimtab.passes._graph import Graph
from trimtab.program import Program

ORDER = 500


def run(program: Program) -> None:
    """A batch normalization without such a producer remains an operator."""
    graph = Graph(program)
    for op in graph.ops("batch_normalization"):
        target = _channel_affine.producer(graph, op.inputs[0])
        parameters = [graph.constant(name) for name in op.inputs[1:5]]
        rank = len(graph.shape(op.inputs[0]))
        if target is None or any(p is None for p in parameters):
            continue
        if target.type == "gemm" and rank != 2:
            continue  # its channels are the last dimension, batch normalization's the second
        scale, bias, mean, variance = (np.asarray(p, np.float64) for p in parameters)
        factor = scale / np.sqrt(variance + op.attributes["epsilon"])
        _channel_affine.apply(graph, target, factor, bias - mean * factor)
        graph.bypass(op)
