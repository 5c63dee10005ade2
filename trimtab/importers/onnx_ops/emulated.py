"""Quantized types without kernels: 16, 4 and 2 bits, and scales for blocks of elements.

float32 holds the values of these types exactly, so that activations are rounded and clamped in
float32. Constants are dequantized during the import.
"""

from __future__ import annotations

import re

import numpy as np

from trimtab.importers._graph import Array, Operand, Value
from trimtab.importers._layer import Results
from trimtab.importers.onnx_ops.node import OnnxNode

_BITS = (2, 4, 16)


def value_range(type_name: str) -> tuple[int, int] | None:
    """The smallest and the largest value of a type that is emulated, by numpy's name; None for any
    other type.
    """
    match = re.fullmatch(r"(u?)int(\d+)", type_name)
    if not match or int(match[2]) not in _BITS:
        return None
    bits = int(match[2])
    return (0, 2**bits - 1) if match[1] else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def is_emulated(node: OnnxNode) -> bool:
    """Whether the operand of DequantizeLinear is of an emulated type, or has scales for blocks."""
    x = node.operand()
    if isinstance(x, Value):
        return x.dtype == "f32" or node.narrow(0) is not None  # f32: the result of `quantized`
    return value_range(x.dtype.name) is not None or node.integer("block_size", 0) > 0


def quantized(node: OnnxNode, x: Value, ends: tuple[int, int]) -> Value:
    """Values of the type with the range `ends`, in float32."""
    rank, axis = len(x.shape), node.integer("axis", 1)
    y = node.add("round", node.add("div", x, node.value(_factor(node, 1, rank, axis))))
    if node.has(2) and np.any(node.known(2, "zero point")):
        y = node.add("add", y, node.value(_factor(node, 2, rank, axis)))
    return node.add("clip", y, alpha=float(ends[0]), beta=float(ends[1]))


def dequantized(node: OnnxNode) -> Results:
    """(x - zero point) * scale; a constant operand gives a constant."""
    x, axis, block = node.operand(), node.integer("axis", 1), node.integer("block_size", 0)
    if isinstance(x, np.ndarray):
        return _constant(node, x, axis, block)
    if block:
        raise node.unsupported("it has scales for blocks of computed elements")
    if x.dtype != "f32":
        x = node.add("cast", x, to="f32")
    rank = len(x.shape)
    if node.has(2) and np.any(node.known(2, "zero point")):
        x = node.add("sub", x, node.value(_factor(node, 2, rank, axis)))
    return node.add("mul", x, node.value(_factor(node, 1, rank, axis)))


def _constant(node: OnnxNode, x: Array, axis: int, block: int) -> Array:
    values = x.astype(np.float32)
    for i, role in ((2, "zero point"), (1, "scale")):
        if not node.has(i):
            continue
        factor = node.known(i, role).astype(np.float32)
        if block:
            factor = _spread(node, factor, x.shape, node.axis(axis, x.ndim), block)
        else:
            factor = _along(node, factor, x.ndim, axis)
        values = values - factor if role == "zero point" else values * factor
    return values


def _spread(node: OnnxNode, factor: Array, shape: tuple[int, ...], axis: int, block: int) -> Array:
    """Factors of blocks of elements along an axis, one per element."""
    blocks = -(-shape[axis] // block)
    node.check_shape("scale", factor.shape, (*shape[:axis], blocks, *shape[axis + 1 :]))
    node.check_elements((2, *shape))
    spread: Array = factor.repeat(block, axis).take(range(shape[axis]), axis)
    return spread


def _factor(node: OnnxNode, i: int, rank: int, axis: int) -> Operand:
    """A constant scale or zero point, in a shape that broadcasts to `rank` dimensions."""
    return _along(node, node.known(i, "scale").astype(np.float32), rank, axis)


def _along(node: OnnxNode, factor: Array, rank: int, axis: int) -> Array:
    if factor.size == 1:
        return factor.reshape(())
    if factor.ndim > 1:
        raise node.unsupported("it has scales for blocks of elements")
    shape = [1] * rank
    shape[node.axis(axis, rank)] = -1
    return factor.reshape(shape)
