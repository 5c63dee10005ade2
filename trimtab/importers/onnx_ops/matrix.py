"""Gemm, MatMul."""

from __future__ import annotations

import numpy as np

from trimtab.importers._layer import Results
from trimtab.importers.onnx_ops.node import OnnxNode, handles
from trimtab.importers.vocabulary import matrix
from trimtab.importers.vocabulary.quantization import Stored, real


@handles("Gemm")
def gemm(node: OnnxNode) -> Results:
    """alpha a b + beta c with a: [m, k] and b: [k, n], each possibly transposed."""
    alpha, beta = node.real("alpha", 1.0), node.real("beta", 1.0)
    weights, shift = node.stored(1), node.stored(2)
    if weights and alpha == beta == 1 and weights.data.ndim == 2 and (shift or not node.has(2)):
        return _stored_product(node, weights, shift)
    a, b = node.x(), node.operand(1)
    a = matrix.flipped(node, a) if node.integer("transA", 0) else a
    b = matrix.flipped(node, b) if node.integer("transB", 0) else b
    has_c = node.has(2) and beta != 0
    one_row = has_c and node.is_known(2) and (len(node.shape(2)) < 2 or node.shape(2)[0] == 1)
    if one_row and isinstance(b, np.ndarray):
        bias = np.broadcast_to(node.known(2, "bias").reshape(-1), (b.shape[1],))
        return matrix.product(node, a, b.T * np.float32(alpha), bias * np.float32(beta))
    y = matrix.mat_mul(node, a, b, alpha)
    return node.add("add", y, node.scaled(node.x(2), beta)) if has_c else y


def _stored_product(node: OnnxNode, weights: Stored, bias: Stored | None) -> Results:
    """The same with b, and c if there is one, as the file stores them."""
    a = matrix.flipped(node, node.x()) if node.integer("transA", 0) else node.x()
    w = weights if node.integer("transB", 0) else weights.transposed()
    if bias is None:
        return matrix.product(node, a, real(node, w, "weight"))
    if bias.data.shape != w.data.shape[:1]:
        y = matrix.product(node, a, real(node, w, "weight"))
        return node.add("add", y, real(node, bias, "bias"))
    return matrix.product(node, a, real(node, w, "weight"), real(node, bias, "bias"))


@handles("MatMul")
def mat_mul(node: OnnxNode) -> Results:
    """numpy.matmul: vectors get a unit dimension, which the result then loses."""
    weights = node.stored(1)
    if weights and weights.data.ndim == 2 and len(node.shape()) >= 2:
        return matrix.product(node, node.x(), real(node, weights.transposed(), "weight"))
    return matrix.mat_mul(node, node.x(), node.operand(1))
