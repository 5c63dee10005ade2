"""Gemm, MatMul."""

from __future__ import annotations

import numpy as np

from trimtab.importers.onnx_ops.node import Array, Node, Value, Values, handles


@handles("Gemm")
def gemm(node: Node) -> Values:
    """alpha a b + beta c with a: [m, k] and b: [k, n], each possibly transposed."""
    alpha, beta = node.real("alpha", 1.0), node.real("beta", 1.0)
    a = node.x(0)
    if node.integer("transA", 0):
        a = node.add("transpose", a, permutation=(1, 0))
    has_c = node.has(2) and beta != 0
    if not node.is_constant(1):
        return _gemm_of_computed(node, a, alpha, beta if has_c else 0.0)
    weight = node.constant(1, "weights")
    if not node.integer("transB", 0):
        weight = weight.T
    weight = weight * np.float32(alpha)
    bias = (
        _row(node.constant(2, "bias"), weight.shape[0]) if has_c and node.is_constant(2) else None
    )
    y = _product(node, a, weight, None if bias is None else bias * np.float32(beta))
    return _plus_c(node, y, beta) if has_c and bias is None else y


def _gemm_of_computed(node: Node, a: Value, alpha: float, beta: float) -> Value:
    b = node.x(1)
    if node.integer("transB", 0):
        b = node.add("transpose", b, permutation=(1, 0))
    y = node.add("mat_mul", a, b)
    if alpha != 1:
        y = node.add("mul", y, node.new_constant(np.float32(alpha), "alpha"))
    return _plus_c(node, y, beta) if beta else y


def _plus_c(node: Node, y: Value, beta: float) -> Value:
    c = node.x(2)
    if beta != 1:
        c = node.add("mul", c, node.new_constant(np.float32(beta), "beta"))
    return node.add("add", y, c)


def _row(c: Array, n: int) -> Array | None:
    """`c` as the bias [n] of every row, or None when rows differ."""
    if c.ndim == 2 and c.shape[0] != 1:
        return None
    return np.broadcast_to(c.reshape(-1), (n,))


def _product(node: Node, x: Value, weight: Array, bias: Array | None) -> Value:
    """x: [..., k] times constant weights [n, k]."""
    constants = [node.new_constant(np.ascontiguousarray(weight), "weight")]
    if bias is not None:
        constants.append(node.new_constant(np.ascontiguousarray(bias), "bias"))
    return node.add("gemm", x, *constants)


@handles("MatMul")
def mat_mul(node: Node) -> Values:
    """numpy.matmul: vectors get a unit dimension, which the result then loses."""
    a, b = node.x(0), node.shape(1)
    if len(a.shape) == 1:
        a = node.add("reshape", a, shape=(1, *a.shape))
    if node.is_constant(1) and len(b) <= 2:
        weight = node.constant(1, "weights")
        y = _product(node, a, weight[np.newaxis] if len(b) == 1 else weight.T, None)
    else:
        right = node.x(1)
        if len(b) == 1:
            right = node.add("reshape", right, shape=(*b, 1))
        y = node.add("mat_mul", a, right)
    shape = list(y.shape)
    if len(b) == 1:
        shape.pop()
    if len(node.shape(0)) == 1:
        shape.pop(-1 if len(b) == 1 else -2)
    return y if len(shape) == len(y.shape) else node.add("reshape", y, shape=tuple(shape))
