"""Fused operators of com.microsoft, which onnxruntime's optimizers write."""

from __future__ import annotations

import math

import numpy as np

from trimtab.importers._graph import Array, Value
from trimtab.importers._layer import Results
from trimtab.importers.onnx_ops import convolution, matrix
from trimtab.importers.onnx_ops.node import OnnxNode, handles
from trimtab.importers.vocabulary import activation, normalization
from trimtab.importers.vocabulary import matrix as products

_DOMAIN = "com.microsoft."
_PACKED_BITS = (2, 4, 8)


def _activated(node: OnnxNode, y: Value, parameters: tuple[float, ...]) -> Value:
    """The activation that the attribute `activation` names, with its parameters."""
    name = node.text("activation", "")
    first, second = (*parameters, None, None)[:2]
    if name == "LeakyRelu":
        return activation.leaky_relu(node, y, 0.01 if first is None else first)
    if name == "HardSigmoid":
        numbers = 0.2 if first is None else first, 0.5 if second is None else second
        return node.add("hard_sigmoid", y, alpha=numbers[0], beta=numbers[1])
    if name == "Clip" and second is not None:
        return node.add("clip", y, alpha=first, beta=second)
    if name not in ("", "Relu", "Sigmoid", "Tanh", "HardSwish"):
        raise node.unsupported(f"its activation is {name}")
    op = {"HardSwish": "hard_swish"}.get(name, name.lower())
    return node.add(op, y) if op else y


@handles(f"{_DOMAIN}FusedConv")
def fused_conv(node: OnnxNode) -> Results:
    """Conv, plus an optional fourth operand, with an activation."""
    y = convolution.conv(node)
    if node.has(3):
        y = node.add("add", y, node.x(3))
    return _activated(node, y, node.reals("activation_params"))


@handles(f"{_DOMAIN}FusedGemm")
def fused_gemm(node: OnnxNode) -> Results:
    """Gemm with an activation."""
    names = "activation_alpha", "activation_beta"
    parameters = tuple(node.real(name) for name in names if node.has_attribute(name))
    return _activated(node, node.value(matrix.gemm(node)), parameters)


@handles(f"{_DOMAIN}FusedMatMul")
def fused_mat_mul(node: OnnxNode) -> Results:
    """alpha * a b with the last axes of a and b possibly swapped."""
    if node.integer("transBatchA", 0) or node.integer("transBatchB", 0):
        raise node.unsupported("it transposes its batch")
    a, b = node.operand(0), node.operand(1)
    a = products.transposed_matrix(node, a) if node.integer("transA", 0) else a
    b = products.transposed_matrix(node, b) if node.integer("transB", 0) else b
    return products.mat_mul(node, a, b, node.real("alpha", 1.0))


@handles(f"{_DOMAIN}MatMulNBits")
def mat_mul_of_packed(node: OnnxNode) -> Results:
    """a times constant weights of 2, 4 or 8 bits with scales for blocks, which become float32."""
    k, n, bits = node.integer("K"), node.integer("N"), node.integer("bits", 4)
    if bits not in _PACKED_BITS:
        raise node.unsupported(f"its weights have {bits} bits")
    if node.has(4):
        raise node.unsupported("it permutes the blocks of its weights (g_idx)")
    packed, scale = node.known(1, "weights"), node.known(2, "scales").astype(np.float32)
    blocks = -(-k // node.integer("block_size"))
    values = _unpacked(packed.reshape(n, blocks, -1), bits).astype(np.float32)
    point: Array = np.full((n, blocks), 2.0 ** (bits - 1), np.float32)
    if node.has(3):
        stored = node.known(3, "zero points")
        if stored.dtype == np.uint8:
            stored = _unpacked(stored.reshape(n, -1), bits)[:, :blocks]
        point = stored.reshape(n, blocks).astype(np.float32)
    weight = (values - point[:, :, np.newaxis]) * scale.reshape(n, blocks, 1)
    bias = node.known(5, "bias").astype(np.float32) if node.has(5) else None
    return products.linear(node, node.x(), weight.reshape(n, -1)[:, :k], bias)


def _unpacked(packed: Array, bits: int) -> Array:
    """Unsigned values of a few bits, the first one in the low bits of a byte."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    values: Array = packed[..., np.newaxis] >> shifts & np.uint8(2**bits - 1)
    return values.reshape(*packed.shape[:-1], -1)


@handles(f"{_DOMAIN}Gelu", f"{_DOMAIN}BiasGelu", f"{_DOMAIN}FastGelu")
def gelu(node: OnnxNode) -> Results:
    """GELU, or its approximation with tanh (FastGelu), of x plus an optional bias."""
    x = node.add("add", node.x(), node.x(1)) if node.has(1) else node.x()
    return activation.gelu(node, x, node.type.endswith("FastGelu"))


@handles(f"{_DOMAIN}QuickGelu")
def quick_gelu(node: OnnxNode) -> Results:
    """x sigmoid(alpha x)."""
    return node.add("swish", node.x(), alpha=node.real("alpha", 1.702))


@handles("SimplifiedLayerNormalization", f"{_DOMAIN}SimplifiedLayerNormalization")
def simplified_layer_normalization(node: OnnxNode) -> Results:
    """x / sqrt(mean(x^2) + epsilon) * scale, over the axes from `axis` on."""
    axis = node.axis(node.integer("axis", -1))
    y = normalization.rms_norm(node, node.x(), axis, node.real("epsilon", 1e-5))
    return node.add("mul", y, node.x(1))


@handles(
    f"{_DOMAIN}SkipLayerNormalization",
    f"{_DOMAIN}SkipSimplifiedLayerNormalization",
)
def skip_layer_normalization(node: OnnxNode) -> Results:
    """LayerNormalization or RMSNormalization of the sum of two operands and a bias; the last result
    is the sum.
    """
    if any(node.uses_output(i) for i in (1, 2)):
        raise node.unsupported("its mean or variance is read")
    is_simplified = "Simplified" in node.type
    total = node.add("add", node.x(0), node.x(1))
    if node.has(3 if is_simplified else 4):
        total = node.add("add", total, node.x(3 if is_simplified else 4))
    axis, epsilon = len(total.shape) - 1, node.real("epsilon", 1e-12)
    if is_simplified:
        y = node.add("mul", normalization.rms_norm(node, total, axis, epsilon), node.x(2))
    else:
        affine = tuple(node.known(i, "scale and bias") if node.has(i) else None for i in (2, 3))
        y = normalization.layer_norm(node, total, axis, (affine[0], affine[1]), epsilon)
    return y, total, total, total


@handles(f"{_DOMAIN}MultiHeadAttention")
def multi_head_attention(node: OnnxNode) -> Results:
    """Attention per head of projected queries, keys and values [n, rows, heads * size]."""
    for i, what in ((4, "a padding mask"), (6, "past keys"), (7, "past values")):
        if node.has(i):
            raise node.unsupported(f"it has {what}")
    if any(node.uses_output(i) for i in (1, 2, 3)) or node.integer("unidirectional", 0):
        raise node.unsupported("it is causal, or its keys, values or scores are read")
    if not (node.has(1) and node.has(2)):
        raise node.unsupported("its queries, keys and values are packed")
    heads = node.integer("num_heads")
    operands = [node.x(i) for i in range(3)]
    if any(len(x.shape) != 3 for x in operands):
        raise node.unsupported("its keys and values are not [n, rows, size]")
    if node.has(3):
        parts = np.split(
            node.known(3, "bias"), np.cumsum([x.shape[-1] for x in operands])[:-1].tolist()
        )
        operands = [
            node.add("add", x, node.constant(part, f"bias{i}"))
            for i, (x, part) in enumerate(zip(operands, parts, strict=True))
        ]
    return _attention(node, operands, heads, node.x(5) if node.has(5) else None)


def _attention(node: OnnxNode, operands: list[Value], heads: int, mask: Value | None) -> Value:
    """Attention of queries, keys and values [n, rows, heads * size]."""
    q, k, v = (products.split_heads(node, x, heads) for x in operands)
    scale = node.real("scale", 0.0) or 1 / math.sqrt(q.shape[-1])
    y = products.attention(node, node.scaled(q, scale), k, v, mask)
    return products.merge_heads(node, y)


@handles(f"{_DOMAIN}Attention")
def attention(node: OnnxNode) -> Results:
    """Attention per head with the projection of x: [n, rows, k] by constant weights."""
    for i, what in ((3, "a padding mask"), (4, "past keys and values")):
        if node.has(i):
            raise node.unsupported(f"it has {what}")
    if node.integer("unidirectional", 0) or node.integer("do_rotary", 0) or node.uses_output(1):
        raise node.unsupported("it is causal or rotary, or its keys and values are read")
    weight = node.parameter(1, "weights", (node.shape()[-1], -1))
    bias = node.known(2, "bias") if node.has(2) else np.zeros(weight.shape[1], np.float32)
    sizes = node.integers("qkv_hidden_sizes", (weight.shape[1] // 3,) * 3)
    ends = np.cumsum(sizes)[:-1].tolist()
    parts = zip(np.split(weight, ends, 1), np.split(bias, ends), "qkv", strict=True)
    operands = [products.linear(node, node.x(), w.T, b, role) for w, b, role in parts]
    mask = node.x(5) if node.has(5) else None
    return _attention(node, operands, node.integer("num_heads"), mask)


@handles(f"{_DOMAIN}RotaryEmbedding")
def rotary_embedding(node: OnnxNode) -> Results:
    """Rotates pairs of elements of x: [n, heads, rows, size] by constant positions."""
    x = node.x()
    positions = node.known(1, "positions").astype(np.int64)
    if len(x.shape) != 4 or node.integer("rotary_embedding_dim", 0):
        raise node.unsupported("its input is not [n, heads, rows, size], or rotates in part")
    rows = x.shape[2]
    if positions.size == 1:
        node.check_elements((rows,), 8)
        positions = positions.reshape(1, 1) + np.arange(rows)
    node.check_elements((2, *positions.shape, *node.shape(2)[1:]))
    cos, sin = (node.known(i, "tables")[positions][:, np.newaxis] for i in (2, 3))
    c, s = node.constant(cos, "cos"), node.constant(sin, "sin")
    return products.rotated(node, x, c, s, interleaved=bool(node.integer("interleaved", 0)))
