"""Adaptive rounding: rounds the weights of a sum jointly, so that its result changes least.

Rounding changes a sum of products by e x, with the weights' rounding errors e and the operands x.
Over samples the mean square is e C e + (e m)^2, with the covariance C and mean m of the operands. A
bias correction removes the second term. Coordinate descent minimizes the first: each weight in turn
takes the integer that best compensates the errors of the others (QuantEase, Behdin et al. 2023; the
objective is that of AdaRound, Nagel et al. 2020). The independent rounding errors of the operands
add their variance to the diagonal of C, which also regularizes C when samples are few.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from trimtab.program import Op, Program
from trimtab.quantization.observer import Array

WEIGHT_MAX = 127  # symmetric: -128 has no negation
_SWEEPS = 3
_BLOCK = 64  # weights that are rounded between two matrix multiplications
_DEEP = 1024  # weights of a sum
_SUMS_PER_WEIGHT = 8
_MAX_DEPTH = 4608  # weights of a sum; the covariance has the square of it
_SEED = 1


@dataclass
class Moments:
    """Moments of the operands of an operator's sums, by group: the number of sums, the operands'
    sums [groups, depth], and the sums of their products [groups, depth, depth].
    """

    count: int
    sums: Array
    products: Array

    @property
    def covariance(self) -> Array:
        """Covariance of the operands, [groups, depth, depth]."""
        means = self.sums / self.count
        return self.products / self.count - means[:, :, None] * means[:, None]

    def add(self, operands: Array) -> None:
        """Adds the operands of some sums, [groups, sums, depth]."""
        self.count += operands.shape[1]
        self.sums += operands.sum(axis=1, dtype=np.float64)
        if len(operands) == 1:  # of a matrix and its transpose, BLAS computes one half
            self.products[0] += operands[0].T @ operands[0]
        else:
            self.products += operands.transpose(0, 2, 1) @ operands


class Rounding:
    """Rounds weights by the moments of their operands, which are given by operator name."""

    def __init__(self, moments: Mapping[str, Moments]) -> None:
        # float32, because a covariance of 4608 operands already has 85 MB.
        self._covariances = {
            name: moment.covariance.astype(np.float32) for name, moment in moments.items()
        }
        self._rounded: dict[tuple[str, float, bytes], Array] = {}

    def of(self, name: str, weights: Array, scales: Array, x_scale: float) -> Array:
        """The int8 weights of an operator (see `rounded`); results are cached."""
        if name not in self._covariances:
            return rounded(weights, scales, None, x_scale)
        key = name, float(x_scale), scales.tobytes()
        if key not in self._rounded:
            self._rounded[key] = rounded(weights, scales, self._covariances[name], x_scale)
        return self._rounded[key]


NEAREST = Rounding({})


def empty_moments(program: Program, op: Op) -> Moments | None:
    """Moments without samples; None if the operator's sums are too deep for a covariance."""
    groups = op.attributes["group"] if op.type == "conv" else 1
    depth = int(np.prod(program.vars[op.inputs[1]].shape[1:]))
    if depth > _MAX_DEPTH:
        return None
    return Moments(0, np.zeros((groups, depth)), np.zeros((groups, depth, depth), np.float32))


def sampled_operands(program: Program, op: Op, x: Array, samples: int, number: int) -> Array:
    """The operands of a random subset of an operator's sums in sample `number` of `samples`:
    [groups, sums, depth].
    """
    shape = program.vars[op.inputs[1]].shape
    depth = int(np.prod(shape[1:]))
    count = -(-_SUMS_PER_WEIGHT * depth // samples)
    rng = np.random.default_rng((_SEED, number))
    if op.type != "conv":
        rows = x.reshape(-1, depth)
        return rows[rng.permutation(len(rows))[:count]][None]
    *_, height, width = program.vars[op.outputs[0]].shape
    pixels = rng.permutation(height * width)[: max(count, 64)]
    return _windows(op, shape, x, pixels // width, pixels % width)


def _windows(op: Op, shape: tuple[int, ...], x: Array, rows: Array, columns: Array) -> Array:
    """im2col of the first image for the output pixels at these rows and columns."""
    groups = op.attributes["group"]
    _, c, kernel_h, kernel_w = shape
    (stride_h, stride_w), (step_h, step_w) = op.attributes["strides"], op.attributes["dilations"]
    top, left, bottom, right = op.attributes["pads"]
    image = np.pad(x[0], ((0, 0), (top, bottom), (left, right)))
    ys = rows[:, None] * stride_h + np.arange(kernel_h) * step_h
    xs = columns[:, None] * stride_w + np.arange(kernel_w) * step_w
    windows = image[:, ys[:, :, None], xs[:, None, :]]  # [channels, pixels, kernel_h, kernel_w]
    split = windows.reshape(groups, c, len(rows), kernel_h * kernel_w).transpose(0, 2, 1, 3)
    return np.asarray(split.reshape(groups, len(rows), -1), np.float32)


def rounded(weights: Array, scales: Array, covariance: Array | None, x_scale: float) -> Array:
    """The int8 values, at most `WEIGHT_MAX` in magnitude, of weights [c_out, ...].

    `scales`: one per output channel. `covariance`: that of the operands, [groups, depth, depth];
    None rounds to nearest. `x_scale`: the quantization scale of the operands.
    """
    along = scales.reshape(-1, *[1] * (weights.ndim - 1))
    nearest = np.clip(np.rint(weights / along), -WEIGHT_MAX, WEIGHT_MAX)
    if covariance is None:
        return nearest.astype(np.int8)
    groups, depth, _ = covariance.shape
    matrix = covariance + np.eye(depth) * (x_scale**2 / 12)
    units = scales.reshape(groups, -1, 1).astype(np.float64)
    scaled = weights.reshape(groups, -1, depth) / units
    return _coordinate_descent(scaled, matrix).reshape(weights.shape).astype(np.int8)


def _coordinate_descent(scaled: Array, matrix: Array) -> Array:
    """Integers that minimize the quadratic form `matrix` of the distance to `scaled`, both
    [groups, rows, depth].
    """
    depth = scaled.shape[2]
    # The products of a block take most of the time of deep sums, and half of it in float32.
    dtype = np.float32 if depth > _DEEP else np.float64
    matrix = matrix.astype(dtype)
    inverse = 1 / np.maximum(np.diagonal(matrix, axis1=1, axis2=2), dtype(1e-30))
    # [groups, depth, rows]: a weight of all rows, which one step rounds, is contiguous.
    values: Array = np.ascontiguousarray(scaled.transpose(0, 2, 1), dtype)
    gradient: Array = np.zeros_like(values)  # all errors, times the matrix
    for sweep in range(_SWEEPS):
        for first in range(0, depth, _BLOCK):
            block = slice(first, min(first + _BLOCK, depth))
            own, inner = values[:, block], np.array(gradient[:, block])
            before, square = own.copy(), matrix[:, block, block]
            for j in range(block.stop - first):
                best = own[:, j] + inner[:, j] * inverse[:, first + j, None]
                new = np.minimum(np.maximum(np.rint(best), -WEIGHT_MAX), WEIGHT_MAX)
                change = own[:, j] - new
                inner[:, j + 1 :] += square[:, j + 1 :, j, None] * change[:, None]
                own[:, j] = new
            # Nothing reads the gradient of earlier weights after the last sweep.
            later = slice(block.stop if sweep == _SWEEPS - 1 else 0, depth)
            gradient[:, later] += matrix[:, later, block] @ (before - own)
    return values.transpose(0, 2, 1)
