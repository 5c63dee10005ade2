"""Batch normalization folds into the weights and bias of the convolution or GEMM before it, also
where a reshape of the GEMM's rows is between them.
"""

from __future__ import annotations

import numpy as np

from trimtab.passes import _channel_affine
from trimtab.passes._channel_affine import Array
from trimtab.passes._graph import Graph
from trimtab.program import Op, Program

ORDER = 500


def run(program: Program) -> None:
    """A batch normalization without such a producer remains an operator."""
    graph = Graph(program)
    for op in graph.ops("batch_normalization"):
        target = _channel_affine.producer(graph, op.inputs[0]) or _behind_rows(graph, op)
        rank = len(graph.shape(op.inputs[0]))
        if target is None:
            continue
        if target.type == "gemm" and rank != 2:
            continue  # its channels are the last dimension, batch normalization's the second
        factors = line(graph, op)
        if factors is None:
            continue
        _channel_affine.apply(graph, target, *factors)
        graph.bypass(op)


def _behind_rows(graph: Graph, op: Op) -> Op | None:
    """The GEMM whose rows are reshaped to the two dimensions that `op` normalizes."""
    reshape = graph.producer(op.inputs[0], "reshape")
    if reshape is None or graph.sole_reader(op.inputs[0]) is None:
        return None
    gemm = _channel_affine.producer(graph, reshape.inputs[0])
    if gemm is None or gemm.type != "gemm":
        return None
    keeps_rows = graph.shape(gemm.outputs[0])[-1] == graph.shape(op.inputs[0])[-1]
    return gemm if keeps_rows else None


def line(graph: Graph, op: Op) -> tuple[Array, Array] | None:
    """(scale, shift) of a batch normalization, float64[channels]; None if they are computed."""
    parameters = [graph.constant(name) for name in op.inputs[1:5]]
    if any(p is None for p in parameters):
        return None
    scale, bias, mean, variance = (np.asarray(p, np.float64) for p in parameters)
    factor = scale / np.sqrt(variance + op.attributes["epsilon"])
    return factor, bias - mean * factor
