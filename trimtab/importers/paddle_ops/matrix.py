"""Fully connected layers and matrix multiplication."""

from __future__ import annotations

import math

from trimtab.importers._graph import Operand
from trimtab.importers.paddle_ops.activation import activate
from trimtab.importers.paddle_ops.node import PaddleNode, Results, handles
from trimtab.importers.vocabulary import matrix, movement


def _right(node: PaddleNode) -> Operand:
    """Operand Y; a constant must be float."""
    return node.weights("Y") if node.is_known("Y") else node.x("Y")


@handles("mul")
def mul(node: PaddleNode) -> Results:
    """Matrix multiplication of both operands, flattened to matrices."""
    x, y = node.x("X"), _right(node)
    x_cut = node.axis(node.integer("x_num_col_dims", 1), len(x.shape))
    y_cut = node.axis(node.integer("y_num_col_dims", 1), len(y.shape))
    rows = movement.flatten_to_matrix(node, x, x_cut)
    columns = movement.flatten_to_matrix(node, y, y_cut)
    product = matrix.mat_mul(node, rows, columns)
    return node.reshape(product, (*x.shape[:x_cut], *y.shape[y_cut:]))


@handles("fc")
def fully_connected(node: PaddleNode) -> Results:
    """Fully connected layer: x, flattened to a matrix, times w [k, n]."""
    x = node.x("Input")
    cut = node.axis(node.integer("in_num_col_dims", 1), len(x.shape))
    weight = node.weights("W", (math.prod(x.shape[cut:]), -1))
    if node.boolean("padding_weights", False):
        raise node.unsupported("its weights are padded")
    bias = node.weights("Bias").reshape(-1) if node.has("Bias") else None
    rows = node.value(movement.flatten_to_matrix(node, x, cut))
    y = matrix.linear(node, rows, weight.T, bias)
    y = node.reshape(y, (*x.shape[:cut], weight.shape[1]))
    return activate(node, y, node.text("activation_type", ""))


@handles("matmul", "matmul_v2", "bmm")
def mat_mul(node: PaddleNode) -> Results:
    """numpy.matmul with transpositions; a vector gets a dimension of 1, which the result drops."""
    alpha = node.real("alpha", 1.0)
    old = node.type == "matmul"
    flip_x = node.boolean("transpose_X" if old else "trans_x", False)
    flip_y = node.boolean("transpose_Y" if old else "trans_y", False)
    x, y = node.x("X"), _right(node)
    if flip_x and len(x.shape) > 1:
        x = matrix.transposed_matrix(node, x)
    if flip_y and len(y.shape) > 1:
        y = matrix.transposed_matrix(node, y)
    product = matrix.mat_mul(node, x, y, alpha)
    return node.reshape(product, product.shape or (1,))
