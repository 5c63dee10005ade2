"""The spectrum of real signals, by matrix multiplication; complex numbers are pairs of tensors."""

from __future__ import annotations

import math

import numpy as np

from trimtab.importers._graph import Array, Value
from trimtab.importers.tflite_ops.forms import Complex, Results
from trimtab.importers.tflite_ops.node import TfliteNode, handles
from trimtab.importers.vocabulary import matrix, movement


@handles("RFFT2D")
def rfft_2d(node: TfliteNode) -> Complex:
    """Discrete Fourier transform of the last two axes, which are cropped or padded to constant
    lengths. The last axis of the result has the half that is not a mirror image of the other.
    """
    x, lengths = node.x(0), node.ints(1, "lengths")
    rank = len(x.shape)
    if rank < 2 or len(lengths) != 2 or min(lengths) < 1:
        raise node.invalid(f"it transforms {rank} dimensions to {list(lengths)}")
    node.check_elements((max(lengths), max(lengths)))
    for axis, length in zip((rank - 2, rank - 1), lengths, strict=True):
        x = movement.axis_slice(node, x, axis, 0, min(length, x.shape[axis]))
        x = movement.padded(node, x, {axis: (0, length - x.shape[axis])})
    rows, columns = lengths
    cosine, sine = _waves(columns)
    half = columns // 2 + 1
    real = matrix.mat_mul(node, x, cosine[:, :half])
    imaginary = matrix.mat_mul(node, x, -sine[:, :half])
    if rows == 1:
        return Complex(real, imaginary)

    def products(waves: Array) -> tuple[Value, Value]:
        wave = node.constant(waves, "wave")
        return node.add("mat_mul", wave, real), node.add("mat_mul", wave, imaginary)

    (a, b), (c, d) = map(products, _waves(rows))
    return Complex(node.add("add", a, d), node.add("sub", b, c))


def _waves(length: int) -> tuple[Array, Array]:
    """Cosines and sines of whole turns, float32[length, length]."""
    turns = np.outer(np.arange(length), np.arange(length)) % length / length
    angle = 2 * math.pi * turns
    return np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)


def _complex(node: TfliteNode) -> Complex:
    value = node.form(node.key(0))
    if not isinstance(value, Complex):
        raise node.unsupported("its operand is not a spectrum")
    return value


@handles("COMPLEX_ABS")
def complex_abs(node: TfliteNode) -> Results:
    """The magnitudes of complex numbers."""
    x = _complex(node)
    parts = (node.add("mul", part, part) for part in (x.real, x.imaginary))
    return node.add("sqrt", node.add("add", *parts))


@handles("REAL", "IMAG")
def part(node: TfliteNode) -> Results:
    """One part of complex numbers."""
    x = _complex(node)
    return x.real if node.type == "REAL" else x.imaginary
