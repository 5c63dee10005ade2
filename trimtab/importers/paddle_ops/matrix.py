"""Matrix products."""

from __future__ import annotations

import math

import numpy as np

from trimtab.importers._layers import Array, Value
from trimtab.importers.paddle_ops.activation import activate
from trimtab.importers.paddle_ops.node import Node, Results, handles


@handles("mul")
def mul(node: Node) -> Results:
    """Both operands are matrices, cut after so many dimensions."""
    x, y = node.x("X"), node.operand("Y")
    x_cut = node.axis(node.integer("x_num_col_dims", 1), len(x.shape))
    y_cut = node.axis(node.integer("y_num_col_dims", 1), len(y.shape))
    rows = node.reshape(x, (math.prod(x.shape[:x_cut]), math.prod(x.shape[x_cut:])))
    inner, outer = math.prod(y.shape[:y_cut]), math.prod(y.shape[y_cut:])
    if isinstance(y, np.ndarray):
        product = _by_weights(node, rows, node.weights("Y").reshape(inner, outer))
    else:
        product = node.add("mat_mul", rows, node.reshape(y, (inner, outer)))
    return node.reshape(product, (*x.shape[:x_cut], *y.shape[y_cut:]))


@handles("fc")
def fully_connected(node: Node) -> Results:
    """x, cut after some dimensions, times w [k, n]."""
    x = node.x("Input")
    cut = node.axis(node.integer("in_num_col_dims", 1), len(x.shape))
    weight = node.weights("W", (math.prod(x.shape[cut:]), -1))
    if node.boolean("padding_weights", False):
        raise node.unsupported("its weights are padded")
    bias = node.weights("Bias").reshape(-1) if node.has("Bias") else None
    rows = node.reshape(x, (math.prod(x.shape[:cut]), weight.shape[0]))
    y = node.reshape(_by_weights(node, rows, weight, bias), (*x.shape[:cut], weight.shape[1]))
    return activate(node, y, node.text("activation_type", ""))


@handles("matmul", "matmul_v2", "bmm")
def mat_mul(node: Node) -> Results:
    """numpy.matmul with transpositions: vectors get a unit dimension, which the result loses."""
    alpha = node.real("alpha", 1.0)
    old = node.type == "matmul"
    flip_x = node.boolean("transpose_X" if old else "trans_x", False)
    flip_y = node.boolean("transpose_Y" if old else "trans_y", False)
    x, y = node.x("X"), node.operand("Y")
    x_rank, y_rank = len(x.shape), len(y.shape)
    if x_rank == 1:
        x = node.reshape(x, (1, *x.shape))
    elif flip_x:
        x = node.transpose(x, _swapped(x_rank))
    if isinstance(y, np.ndarray) and y_rank <= 2:
        weight = node.weights("Y")
        if y_rank == 1:
            weight = weight[:, np.newaxis]
        elif flip_y:
            weight = weight.T
        product = _by_weights(node, x, weight * np.float32(alpha))
    else:
        right = node.x("Y")
        if y_rank == 1:
            right = node.reshape(right, (*right.shape, 1))
        elif flip_y:
            right = node.transpose(right, _swapped(y_rank))
        product = node.scale_and_shift(node.add("mat_mul", x, right), alpha, 0.0)
    shape = list(product.shape)
    if y_rank == 1:
        shape.pop()
    if x_rank == 1:
        shape.pop(-1 if y_rank == 1 else -2)
    return node.reshape(product, shape or (1,))


def _swapped(rank: int) -> tuple[int, ...]:
    """The permutation that swaps the last two dimensions."""
    return (*range(rank - 2), rank - 1, rank - 2)


def _by_weights(node: Node, x: Value, weight: Array, bias: Array | None = None) -> Value:
    """x: [..., k] times constant weights [k, n]."""
    if x.shape[-1] != weight.shape[0]:
        raise node.invalid(f"{list(x.shape)} cannot be multiplied by {list(weight.shape)}")
    operands = [node.constant(np.ascontiguousarray(weight.T), "weight")]
    if bias is not None:
        operands.append(node.constant(bias, "bias"))
    return node.add("gemm", x, *operands)
