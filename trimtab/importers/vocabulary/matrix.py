"""GEMM, batched matrix multiplication and attention."""

from __future__ import annotations

from typing import overload

import numpy as np

from trimtab.importers._graph import Operand, Value
from trimtab.importers._layer import ImportedLayer
from trimtab.importers.vocabulary.movement import drop_axes


def linear(
    layer: ImportedLayer, x: Value, weight: Operand, bias: Operand | None = None, role: str = ""
) -> Value:
    """Fully connected layer: x: [..., k] times weight: [n, k] transposed, plus bias: [n]."""
    if not x.shape or x.shape[-1] != weight.shape[1]:
        raise layer.invalid(f"{list(x.shape)} cannot be multiplied by {list(weight.shape[::-1])}")
    operands = [
        layer.constant(np.ascontiguousarray(operand), f"{role}{what}")
        if isinstance(operand, np.ndarray)
        else operand
        for operand, what in ((weight, "weight"), (bias, "bias"))
        if operand is not None
    ]
    if len(x.shape) >= 2:
        return layer.add("gemm", x, *operands)
    y = layer.add("gemm", layer.reshape(x, (1, -1)), *operands)
    return layer.reshape(y, (weight.shape[0],))


@overload
def transposed_matrix(layer: ImportedLayer, x: Value) -> Value: ...
@overload
def transposed_matrix(layer: ImportedLayer, x: Operand) -> Operand: ...
def transposed_matrix(layer: ImportedLayer, x: Operand) -> Operand:
    """`x` with its last two axes swapped."""
    rank = len(x.shape)
    return layer.transpose(x, (*range(rank - 2), rank - 1, rank - 2))


def mat_mul(layer: ImportedLayer, a: Operand, b: Operand, alpha: float = 1.0) -> Value:
    """alpha times numpy's matmul. A vector gets a dimension of 1, which the result drops."""
    row, column = len(a.shape) == 1, len(b.shape) == 1
    left = layer.value(layer.reshape(a, (1, -1)) if row else a)
    b = layer.reshape(b, (-1, 1)) if column else b
    weight = b if isinstance(b, np.ndarray) else b.data
    if weight is not None and weight.ndim == 2:
        y = linear(layer, left, weight.T if alpha == 1.0 else weight.T * np.float32(alpha))
    else:
        y = layer.scaled(layer.add("mat_mul", left, layer.value(b)), alpha)
    rank = len(y.shape)
    added = {rank - 2} if row else set()
    return layer.reshape(y, drop_axes(y.shape, added | {rank - 1} if column else added))


def attention(layer: ImportedLayer, q: Value, k: Value, v: Value, mask: Value | None) -> Value:
    """softmax(q k^T + mask) v for q, k, v: [..., rows, size]."""
    scores = layer.add("mat_mul", q, transposed_matrix(layer, k))
    if mask is not None:
        scores = layer.add("add", scores, mask)
    weights = layer.add("softmax", scores, axis=len(scores.shape) - 1)
    return layer.add("mat_mul", weights, v)


def split_heads(layer: ImportedLayer, x: Value, heads: int) -> Value:
    """Rearranges [n, rows, heads * size] to [n, heads, rows, size]."""
    split = layer.reshape(x, (*x.shape[:2], heads, -1))
    return layer.transpose(split, (0, 2, 1, 3))


def merge_heads(layer: ImportedLayer, x: Value) -> Value:
    """Rearranges [n, heads, rows, size] to [n, rows, heads * size]."""
    rows = layer.transpose(x, (0, 2, 1, 3))
    return layer.reshape(rows, (*rows.shape[:2], -1))
