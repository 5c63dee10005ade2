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
    node.check_elements((count, _PARTS, results, _PARTS))
    node.check_elements((count, results), 8)
    matrix = _matrix(length, count, results, inverse=inverse)[:, :parts]
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


def _matrix(length: int, count: int, results: int, *, inverse: bool) -> Array:
    """float32[count, part, results, part]: the contribution of each part of the first elements to
    the first results of a transform of `length` elements.
    """
    angle = 2 * np.pi * (np.arange(length) / length) * (1 if inverse else -1)
    share = 1 / length if inverse else 1.0
    real, imaginary = ((f(angle) * share).astype(np.float32) for f in (np.cos, np.sin))
    turns = np.outer(np.arange(count), np.arange(results))
    turns %= length
    matrix = np.empty((count, _PARTS, results, _PARTS), np.float32)
    matrix[:, 0, :, 0] = matrix[:, 1, :, 1] = real[turns]
    matrix[:, 0, :, 1] = imaginary[turns]
    matrix[:, 1, :, 0] = -matrix[:, 0, :, 1]
    return matrix


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
    node.check_elements((starts.size, size), 8)
    frames = node.add("gather", x, node.value(starts[:, np.newaxis] + np.arange(size)), axis=1)
    if window is not None:
        factors = node.constant(window.reshape(-1, 1), "window")
        frames = node.add("mul", frames, factors)
    onesided = node.boolean("onesided", True)
    return _transformed(node, frames, 2, size, inverse=False, onesided=onesided)
