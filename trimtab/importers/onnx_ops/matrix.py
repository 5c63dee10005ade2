"""Gemm, MatMul, Einsum, Det."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from trimtab.importers._layer import Results
from trimtab.importers.onnx_ops.node import OnnxNode, handles
from trimtab.importers.vocabulary import matrix, movement
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


_MAX_DETERMINANT = 8  # rows: the expansion has n 2^(n - 1) products


@handles("Det")
def determinant(node: OnnxNode) -> Results:
    """Determinants of matrices [..., n, n] of up to 8 rows, by Laplace's expansion: those of the
    first k rows and any k columns follow from those of k - 1.
    """
    x = node.x()
    *batch, n, columns = x.shape
    if n != columns:
        raise node.invalid(f"its matrices are {n} x {columns}")
    if n > _MAX_DETERMINANT:
        raise node.unsupported(f"its matrices have {n} rows, more than {_MAX_DETERMINANT}")
    rank, minors = len(batch), movement.axis_slice(node, x, len(batch), 0, 1)
    minors = node.reshape(minors, (*batch, n))
    smaller: dict[tuple[int, ...], int] = {(column,): column for column in range(n)}
    for k in range(2, n + 1):
        sets = list(combinations(range(n), k))
        removed = [[(*s[:i], *s[i + 1 :]) for i in range(k)] for s in sets]
        signs = np.resize(np.array([1, -1], np.float32), k)[::-1] * np.ones(
            (len(sets), 1), np.float32
        )
        row = node.reshape(movement.axis_slice(node, x, rank, k - 1, k), (*batch, n))
        entries = node.add("gather", row, node.value(np.array(sets)), axis=rank)
        places = np.array([[smaller[s] for s in each] for each in removed])
        parts = node.add("gather", minors, node.value(places), axis=rank)
        terms = node.add("mul", node.add("mul", entries, node.constant(signs, "signs")), parts)
        minors = node.add("reduce_sum", terms, axes=(rank + 1,), keep_dims=False)
        smaller = {s: i for i, s in enumerate(sets)}
    return node.reshape(minors, tuple(batch))
