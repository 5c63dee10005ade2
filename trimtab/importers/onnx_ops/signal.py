"""DFT and STFT, by matrix multiplication."""

from __future__ import annotations

import numpy as np

from trimtab.importers._graph import Array, Operand, Value
from trimtab.importers._layer import Results
from trimtab.importers.onnx_ops.node import OnnxNode, handles
from trimtab.importers.vocabulary import movement
from trimtab.importers.vocabulary.matrix import mat_mul

_PARTS = 2  # real and imaginary


@handles("DFT")
def dft(node: OnnxNode) -> Results:
    """Discrete Fourier transform of x: [..., 1 or 2] along a constant axis."""
    x = node.x(0)
    default = 1 if node.opset < 20 else -2
    axis = int(node.number(2, "axis")) if node.has(2) else node.integer("axis", default)
    axis = node.axis(axis, len(x.shape))
    if axis == len(x.shape) - 1:
        raise node.invalid("its axis is that of the real and imaginary parts")
    inverse, onesided = node.boolean("inverse", False), node.boolean("onesided", False)
    length = 2 * x.shape[axis] - 2 if inverse and onesided else x.shape[axis]
    length = int(node.number(1, "length")) if node.has(1) else length
    node.check_elements((length * _PARTS, length * _PARTS))
    return _transformed(node, x, axis, length, inverse=inverse, onesided=onesided)


def _transformed(
    node: OnnxNode, x: Value, axis: int, length: int, *, inverse: bool, onesided: bool
) -> Value:
    """Transforms the first `length` elements along an axis, of which absent ones are 0."""
    *_, parts = x.shape
    if parts not in (1, _PARTS) or length < 1:
        raise node.invalid(f"its input has {parts} parts, and its length is {length}")
    both = inverse and onesided  # from half of a symmetric spectrum to real elements
    stored = length // 2 + 1 if both else length
    count = min(stored, x.shape[axis])
    x = movement.axis_slice(node, x, axis, 0, count)
    results = length // 2 + 1 if onesided and not inverse else length
    matrix = _matrix(length, inverse=inverse)[:count, :parts, :results]
    if both:
        # An element stands for its mirror image, too, but those that are their own.
        own = [i for i in (0, length / 2) if i < count and i == int(i)]
        factors = np.full(count, 2, np.float32)
        factors[np.array(own, np.int64)] = 1
        matrix = matrix[..., :1] * factors.reshape(-1, 1, 1, 1)
    order = [i for i in range(len(x.shape)) if i != axis]
    order.insert(-1, axis)
    moved = node.transpose(x, order)
    rows: Operand = node.reshape(moved, (*moved.shape[:-2], count * parts))
    y = mat_mul(node, rows, matrix.reshape(count * parts, -1))
    y = node.reshape(y, (*moved.shape[:-2], results, matrix.shape[-1]))
    return node.transpose(y, np.argsort(order).tolist())


def _matrix(length: int, *, inverse: bool) -> Array:
    """float32[from, part, to, part]: the contribution of each part of an element to a result."""
    turns = np.outer(np.arange(length), np.arange(length)) % length / length
    angle = 2 * np.pi * turns * (1 if inverse else -1)
    real, imaginary = np.cos(angle), np.sin(angle)
    matrix = np.stack([np.stack([real, imaginary], -1), np.stack([-imaginary, real], -1)], axis=1)
    return (matrix / length if inverse else matrix).astype(np.float32)


@handles("STFT")
def stft(node: OnnxNode) -> Results:
    """DFT of the frames of a signal: [n, length, 1 or 2], with a constant step and window."""
    x, step = node.x(0), int(node.number(1, "step"))
    window = node.known(2, "window") if node.has(2) else None
    if node.has(3):
        size = int(node.number(3, "frame length"))
    elif window is not None:
        size = window.size
    else:
        raise node.invalid("it has neither a window nor the length of a frame")
    if len(x.shape) == 2:
        x = node.reshape(x, (*x.shape, 1))
    if step < 1 or not 1 <= size <= x.shape[1]:
        raise node.invalid(f"its frames of {size} with the step {step} do not fit {x.shape[1]}")
    starts = np.arange(0, x.shape[1] - size + 1, step)
    frames = node.add("gather", x, node.value(starts[:, np.newaxis] + np.arange(size)), axis=1)
    if window is not None:
        factors = node.constant(window.reshape(-1, 1), "window")
        frames = node.add("mul", frames, factors)
    onesided = node.boolean("onesided", True)
    return _transformed(node, frames, 2, size, inverse=False, onesided=onesided)
