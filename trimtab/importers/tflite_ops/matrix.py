"""Matrix products."""

from __future__ import annotations

import math

import numpy as np

from trimtab.importers._layers import Value
from trimtab.importers.tflite_ops.node import Node, Results, handles


@handles("FULLY_CONNECTED")
def fully_connected(node: Node) -> Results:
    """x as rows of k, weights [n, k]."""
    options, x = node.options("FullyConnectedOptions"), node.x(0)
    if options.WeightsFormat():
        raise node.unsupported("its weights are shuffled")
    if not node.is_known(1):
        right = node.x(1)
        outputs, length = right.shape
        rows = node.reshape(x, (math.prod(x.shape) // max(1, length), length))
        y = node.add("mat_mul", rows, node.transpose(right, (1, 0)))
        if node.has(2):
            y = node.add("add", y, node.x(2))
    else:
        weight = node.weights(1, "weights", (-1, -1))
        outputs, length = weight.shape
        rows = node.reshape(x, (math.prod(x.shape) // max(1, length), length))
        operands = [node.constant(weight, "weight")]
        if node.has(2):
            operands.append(node.constant(node.weights(2, "bias", (outputs,)), "bias"))
        y = node.add("gemm", rows, *operands)
    y = node.activated(y, options.FusedActivationFunction())
    return node.reshape(y, (*x.shape[:-1], outputs)) if options.KeepNumDims() else y


@handles("BATCH_MATMUL")
def batch_mat_mul(node: Node) -> Results:
    """numpy.matmul, with transpositions."""
    options = node.options("BatchMatMulOptions")
    a, flipped = node.x(0), options.AdjY()
    if options.AdjX():
        a = _flipped(node, a)
    if node.is_known(1) and len(node.shape(1)) == 2:
        weight = node.weights(1, "operand", (-1, -1))
        weight = weight if flipped else weight.T
        return node.add("gemm", a, node.constant(np.ascontiguousarray(weight), "weight"))
    b = node.x(1)
    return node.add("mat_mul", a, _flipped(node, b) if flipped else b)


def _flipped(node: Node, x: Value) -> Value:
    rank = len(x.shape)
    return node.transpose(x, (*range(rank - 2), rank - 1, rank - 2))
