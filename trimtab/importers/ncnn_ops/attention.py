"""MultiHeadAttention, SDPA, RotaryEmbed."""

from __future__ import annotations

import math

import numpy as np

from trimtab.importers._graph import Value
from trimtab.importers._layer import Results
from trimtab.importers.ncnn_ops.layer import NcnnLayer, handles
from trimtab.importers.vocabulary.matrix import (
    attention,
    linear,
    merge_heads,
    rotated,
    split_heads,
)


@handles("MultiHeadAttention")
def multi_head_attention(layer: NcnnLayer) -> Results:
    """softmax(q k^T + mask) v per head, between projections of the inputs and of the result."""
    p = layer.param
    size, heads = p.integer("embed_dim", 0), p.integer("num_heads", 1)
    count = p.integer("weight_data_size", 0)
    k_size, v_size = p.integer("kdim", size), p.integer("vdim", size)
    if size < 1 or heads < 1 or size % heads or count % size:
        raise layer.invalid(f"{heads} heads do not divide {size}, or {count} weights")
    _reject_variants(layer)
    q_size = count // size
    factor = p.real("scale", 1.0 / math.sqrt(size // heads))
    operands = layer.xs()
    mask = operands.pop() if p.integer("attn_mask", 0) and len(operands) > 1 else None
    if not 1 <= len(operands) <= 3 or any(len(x.shape) != 3 for x in operands):
        raise layer.unsupported("its inputs are not one to three matrices")
    q, k, v = (operands[min(i, len(operands) - 1)] for i in range(3))

    def project(x: Value, outputs: int, inputs: int, role: str, scale: float = 1.0) -> Value:
        weight = layer.weights((outputs, inputs), f"{role} weights") * np.float32(scale)
        bias = layer.raw_weights((outputs,), f"{role} bias") * np.float32(scale)
        return linear(layer, x, weight, bias, f"{role}_")

    q = split_heads(layer, project(q, size, q_size, "query", factor), heads)
    k = split_heads(layer, project(k, size, k_size, "key"), heads)
    v = split_heads(layer, project(v, size, v_size, "value"), heads)
    if mask is not None and len(mask.shape) != 4:
        mask = layer.reshape(mask, (1, 1, *mask.shape[1:]))
    rows = merge_heads(layer, attention(layer, q, k, v, mask))
    return project(rows, q_size, size, "output")


@handles("SDPA")
def scaled_dot_product_attention(layer: NcnnLayer) -> Results:
    """softmax(scale * q k^T + mask) v for q: [heads, rows, size]; several heads of q may share one
    of k and v.
    """
    _reject_variants(layer)
    has_mask = bool(layer.param.integer("attn_mask", 0))
    if len(layer.inputs) != 3 + has_mask:
        raise layer.invalid(f"it has {len(layer.inputs)} inputs, not {3 + has_mask}")
    q, k, v = (layer.image(i) for i in range(3))
    mask = layer.x(3) if has_mask else None
    heads, groups = q.shape[1], k.shape[1]
    if heads % groups or v.shape[1] != groups:
        raise layer.invalid(f"{groups} and {v.shape[1]} heads of k and v do not divide {heads}")
    if mask is not None:
        each = (mask.shape[1] if len(mask.shape) == 4 else 1, *mask.shape[-2:])
        if each[0] not in (1, heads):
            raise layer.invalid(f"its mask has {each[0]} heads, not {heads}")
        mask = layer.reshape(mask, (1, *each))
    q = layer.scaled(q, layer.param.real("scale", 0.0) or 1 / math.sqrt(q.shape[3]))
    if heads == groups:
        return attention(layer, q, k, v, mask)
    shared = groups, heads // groups
    q, k, v = (layer.reshape(x, (1, groups, -1, *x.shape[2:])) for x in (q, k, v))
    if mask is not None:
        mask = layer.reshape(mask, (1, *(shared if mask.shape[1] > 1 else (1, 1)), *mask.shape[2:]))
    y = attention(layer, q, k, v, mask)
    return layer.reshape(y, (1, heads, *y.shape[3:]))


@handles("RotaryEmbed")
def rotary_embedding(layer: NcnnLayer) -> Results:
    """Rotates pairs of elements of x: [heads, rows, size] by tables of cosines and sines: [rows,
    size / 2], or [rows, size] where both halves have angles of their own.
    """
    x, interleaved = layer.image(), bool(layer.param.integer("interleaved", 0))
    rows, size = x.shape[2:]
    tables = [layer.x(i) for i in (1, 2)]
    widths = (size // 2,) if interleaved else (size // 2, size)
    if size % 2 or any(t.shape[-1] not in widths or t.count != rows * t.shape[-1] for t in tables):
        raise layer.unsupported(f"its tables are not for {rows} rows of {size} elements")
    cos, sin = (layer.reshape(table, (1, 1, rows, -1)) for table in tables)
    return rotated(layer, x, cos, sin, interleaved=interleaved)


def _reject_variants(layer: NcnnLayer) -> None:
    """Rejects quantized attention, and keys and values that are kept."""
    if layer.param.integer("int8_scale_term", 0):
        raise layer.unsupported("it is quantized (parameter 18)")
    if layer.param.integer("kv_cache", 0):
        raise layer.unsupported("it has a key-value cache (parameter 7)")
