"""Fully connected layers, matrix multiplication and attention."""

from __future__ import annotations

import math

import numpy as np

from trimtab.importers._graph import Array, Value
from trimtab.importers.pnnx_ops.operator import PnnxOperator, handles
from trimtab.importers.vocabulary import matrix
from trimtab.importers.vocabulary.reduction import at_least_a_vector


@handles("nn.Linear", "F.linear")
def linear(op: PnnxOperator) -> Value:
    """x w^T + b over the last axis."""
    x = op.x(0, "input")
    weight, bias = op.constant_operand("weight", 1), op.constant_operand("bias", 2)
    if weight is None or weight.ndim != 2 or not x.shape:
        raise op.invalid("it lacks its weights")
    return matrix.linear(op, x, weight, bias)


@handles("torch.matmul", "torch.mm", "torch.bmm", "Tensor.matmul")
def mat_mul(op: PnnxOperator) -> Value:
    """numpy.matmul; a vector is a row on the left and a column on the right."""
    a, b = op.x(0, "input", "self"), op.x(1, "other", "mat2", "tensor2")
    return at_least_a_vector(op, matrix.mat_mul(op, a, b))


@handles("torch.addmm", "torch.baddbmm")
def add_mat_mul(op: PnnxOperator) -> Value:
    """beta * c + alpha * a b."""
    c = op.x(0, "input")
    a, b = op.x(1, "mat1", "batch1"), op.x(2, "mat2", "batch2")
    y = op.scaled(op.add("mat_mul", a, b), op.real("alpha", 1.0))
    return op.add("add", y, op.scaled(c, op.real("beta", 1.0)))


def _attention(op: PnnxOperator, q: Value, k: Value, v: Value, mask: Value | None) -> Value:
    if mask is not None and mask.dtype != "f32":
        raise op.unsupported("its mask is not float32")
    return matrix.attention(op, q, k, v, mask)


@handles("F.scaled_dot_product_attention")
def scaled_dot_product_attention(op: PnnxOperator) -> Value:
    """Attention with queries, keys and values [..., rows, size]."""
    q, k, v = op.x(0, "query"), op.x(1, "key"), op.x(2, "value")
    mask = op.optional(3, "attn_mask")
    if op.boolean("is_causal", False) or op.boolean("enable_gqa", False):
        raise op.unsupported("it is causal, or groups its queries")
    op.static("dropout_p")
    scale = op.real("scale", 1 / math.sqrt(q.shape[-1]))
    return _attention(op, op.scaled(q, scale), k, v, mask)


@handles("nn.MultiheadAttention")
def multi_head_attention(op: PnnxOperator) -> Value:
    """Attention per head, between projections of the inputs and of the result."""
    size, heads = op.integer("embed_dim"), op.integer("num_heads")
    if size < 1 or heads < 1 or size % heads:
        raise op.invalid(f"{heads} heads do not divide {size}")
    for name in ("add_bias_kv", "add_zero_attn"):
        if op.boolean(name, False):
            raise op.unsupported(f"it has {name}")
    for name in ("kdim", "vdim"):
        op.static(name)
    if len(op.outputs) > 1:
        raise op.unsupported("it returns the attention weights")
    operands = op.tensors()
    mask = None
    if op.optional(len(operands), "attn_mask"):
        mask = operands.pop()
    q, k, v = (operands[min(i, len(operands) - 1)] for i in range(3))
    batch_first = op.boolean("batch_first", False)
    if any(len(x.shape) != 3 for x in (q, k, v)):
        raise op.unsupported("its inputs are not [batch, rows, size]")
    if not batch_first:
        q, k, v = (op.swap(x, 0, 1) for x in (q, k, v))
    weights, biases = _projections(op, size)

    # The projection of the queries includes their scale.
    weights[0] = weights[0] * (factor := np.float32(1 / math.sqrt(size // heads)))
    biases[0] = None if biases[0] is None else biases[0] * factor
    q, k, v = (
        matrix.split_heads(op, matrix.linear(op, x, weights[i], biases[i], "qkv"[i]), heads)
        for i, x in enumerate((q, k, v))
    )
    y = matrix.merge_heads(op, _attention(op, q, k, v, mask))
    out, bias = op.weight("out_proj.weight", (size, size)), op.weight("out_proj.bias", (size,))
    if out is None:
        raise op.invalid("it lacks its weights")
    y = matrix.linear(op, y, out, bias, "out_")
    return y if batch_first else op.swap(y, 0, 1)


def _projections(op: PnnxOperator, size: int) -> tuple[list[Array], list[Array | None]]:
    """Weights and biases of queries, keys and values, stored in one matrix or in three."""
    joint = op.weight("in_proj_weight", (3 * size, size))
    weights = list(np.split(joint, 3)) if joint is not None else []
    for name in () if weights else ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
        weight = op.weight(name)
        if weight is None or weight.ndim != 2 or weight.shape[0] != size:
            raise op.invalid(f"it lacks {name}")
        weights.append(weight)
    bias = op.weight("in_proj_bias", (3 * size,))
    biases: list[Array | None] = [None] * 3 if bias is None else list(np.split(bias, 3))
    return weights, biases
