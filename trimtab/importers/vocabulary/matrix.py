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


def rotated(layer: ImportedLayer, x: Value, cos: Value, sin: Value, *, interleaved: bool) -> Value:
    """Rotates pairs of elements of x: [n, heads, rows, size], neighbors or of both halves.

    cos, sin: of the angles, broadcast to [n, heads, rows, size / 2], or to [n, heads, rows, size]
    where both halves have angles of their own. Source: Su et al., "RoFormer", 2021, section 3.2.2.
    """
    half = x.shape[3] // 2
    if interleaved:
        pairs = layer.reshape(x, (*x.shape[:3], half, 2))
        a, b = layer.add_many("split", pairs, outputs=2, axis=4, sizes=(1, 1))
        a, b = (layer.reshape(part, (*x.shape[:3], half)) for part in (a, b))
    else:
        a, b = layer.add_many("split", x, outputs=2, axis=3, sizes=(half, half))
    (cos_a, cos_b), (sin_a, sin_b) = (
        (table, table)
        if table.shape[-1] == half
        else layer.add_many("split", table, outputs=2, axis=3, sizes=(half, half))
        for table in (cos, sin)
    )
    first = layer.add("sub", layer.add("mul", a, cos_a), layer.add("mul", b, sin_a))
    second = layer.add("add", layer.add("mul", a, sin_b), layer.add("mul", b, cos_b))
    if not interleaved:
        return layer.add("concat", first, second, axis=3)
    parts = (layer.reshape(part, (*x.shape[:3], half, 1)) for part in (first, second))
    return layer.reshape(layer.add("concat", *parts, axis=4), x.shape)
