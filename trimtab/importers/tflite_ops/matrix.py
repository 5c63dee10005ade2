"""Fully connected layers and matrix multiplication."""

from __future__ import annotations

import math

from trimtab.importers.tflite_ops.forms import Results
from trimtab.importers.tflite_ops.node import TfliteNode, handles
from trimtab.importers.vocabulary.matrix import linear, mat_mul, transposed_matrix


@handles("FULLY_CONNECTED")
def fully_connected(node: TfliteNode) -> Results:
    """x, reshaped to rows of k, times weights [n, k] transposed."""
    options, x = node.options("FullyConnectedOptions"), node.x(0)
    if options.WeightsFormat():
        raise node.unsupported("its weights are shuffled")
    outputs, length = node.shape(1)
    rows = node.reshape(x, (math.prod(x.shape) // max(1, length), length))
    if node.is_known(1):
        y = linear(node, rows, node.weights(1, (-1, -1)), node.bias(2, outputs))
    else:
        y = node.add("mat_mul", rows, transposed_matrix(node, node.x(1)))
        y = node.add("add", y, node.x(2)) if node.has(2) else y
    y = node.activated(y, options.FusedActivationFunction())
    return node.reshape(y, (*x.shape[:-1], outputs)) if options.KeepNumDims() else y


@handles("BATCH_MATMUL")
def batch_mat_mul(node: TfliteNode) -> Results:
    """numpy.matmul with transpositions."""
    options = node.options("BatchMatMulOptions")
    a, b = node.x(0), node.numbers(1, "operand") if node.is_known(1) else node.x(1)
    a = transposed_matrix(node, a) if options.AdjX() else a
    return mat_mul(node, a, transposed_matrix(node, b) if options.AdjY() else b)
