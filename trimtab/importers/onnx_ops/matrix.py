"""Gemm, MatMul, Einsum."""

from __future__ import annotations

import numpy as np

from trimtab.importers._layer import Results
from trimtab.importers.onnx_ops.node import OnnxNode, handles
from trimtab.importers.vocabulary import matrix
from trimtab.importers.vocabulary.einsum import einsum as einstein_sum
from trimtab.importers.vocabulary.quantization import QuantizedConstant


@handles("Gemm")
def gemm(node: OnnxNode) -> Results:
    """alpha * a b + beta * c with a: [m, k] and b: [k, n], each possibly transposed."""
    alpha, beta = node.real("alpha", 1.0), node.real("beta", 1.0)
    weights, shift = node.stored(1), node.stored(2)
    if weights and alpha == beta == 1 and weights.data.ndim == 2 and (shift or not node.has(2)):
        return _stored_product(node, weights, shift)
    a, b = node.x(), node.operand(1)
    a = matrix.transposed_matrix(node, a) if node.integer("transA", 0) else a
    b = matrix.transposed_matrix(node, b) if node.integer("transB", 0) else b
    has_c = node.has(2) and beta != 0
    one_row = has_c and node.is_known(2) and (len(node.shape(2)) < 2 or node.shape(2)[0] == 1)
    if one_row and isinstance(b, np.ndarray):
        bias = np.broadcast_to(node.known(2, "bias").reshape(-1), (b.shape[1],))
        return matrix.linear(node, a, b.T * np.float32(alpha), bias * np.float32(beta))
    y = matrix.mat_mul(node, a, b, alpha)
    return node.add("add", y, node.scaled(node.x(2), beta)) if has_c else y


def _stored_product(
    node: OnnxNode, weights: QuantizedConstant, bias: QuantizedConstant | None
) -> Results:
    """The Gemm of a quantized constant b, and optionally c."""
    a = matrix.transposed_matrix(node, node.x()) if node.integer("transA", 0) else node.x()
    w = weights if node.integer("transB", 0) else weights.transposed()
    if bias is None:
        return matrix.linear(node, a, w.dequantized(node, "weight"))
    if bias.data.shape != w.data.shape[:1]:
        y = matrix.linear(node, a, w.dequantized(node, "weight"))
        return node.add("add", y, bias.dequantized(node, "bias"))
    return matrix.linear(node, a, w.dequantized(node, "weight"), bias.dequantized(node, "bias"))


@handles("MatMul")
def mat_mul(node: OnnxNode) -> Results:
    """numpy.matmul; a vector gets a dimension of 1, which the result drops."""
    weights = node.stored(1)
    if weights and weights.data.ndim == 2 and len(node.shape()) >= 2:
        return matrix.linear(node, node.x(), weights.transposed().dequantized(node, "weight"))
    return matrix.mat_mul(node, node.x(), node.operand(1))


@handles("Einsum")
def einsum(node: OnnxNode) -> Results:
    """Einstein summation without repeated labels in a term, by matrix multiplication."""
    return einstein_sum(node, node.text("equation"), node.operands())
