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
from dataclasses import dataclass, field, replace

import numpy as np

from trimtab.program import Op, Program
from trimtab.quantization.observer import Array

WEIGHT_MAX = 127  # symmetric: -128 has no negation
_SWEEPS = 2  # more fit the samples better, and other pictures no better
_BLOCK, _PART = 64, 8  # weights that are rounded between two matrix multiplications
_SUMS_PER_WEIGHT = 8
_FEW = 0.4  # sums per weight: up to these, products with the operands cost less than the covariance
_MAX_DEPTH = 4608  # weights of a sum; the covariance has the square of it
_SEED = 1


@dataclass(frozen=True)
class Covariance:
    """A covariance of operands plus `ridge` on its diagonal, as a `matrix` [groups, depth, depth];
    or as the product of a matrix [groups, sums, depth] with itself if `is_factor`: cheaper for few
    sums.
    """

    matrix: Array
    is_factor: bool = False
    ridge: float = 0.0

    def with_ridge(self, ridge: float) -> Covariance:
        """The same covariance with another `ridge`."""
        return replace(self, ridge=ridge)

    @property
    def diagonal(self) -> Array:
        """The diagonal, [groups, depth]."""
        if self.is_factor:
            return np.asarray((self.matrix**2).sum(axis=1) + self.ridge)
        return np.asarray(np.diagonal(self.matrix, axis1=1, axis2=2) + self.ridge)

    def square(self, block: slice) -> Array:
        """The part of these rows and columns, [groups, block, block]."""
        rows = self.matrix[:, :, block]
        part = rows.transpose(0, 2, 1) @ rows if self.is_factor else self.matrix[:, block, block]
        return np.asarray(
            part + np.eye(part.shape[1], dtype=part.dtype) * part.dtype.type(self.ridge)
        )


class _Gradient:
    """The product of a covariance with errors [groups, depth, rows] that change by blocks."""

    def __init__(self, covariance: Covariance, errors: Array) -> None:
        self._covariance, self._errors = covariance, errors
        groups, size, _ = covariance.matrix.shape
        shape = groups, size if covariance.is_factor else errors.shape[1], errors.shape[2]
        self._sums: Array = np.zeros(shape, errors.dtype)

    def of(self, block: slice) -> Array:
        """The rows of a block, [groups, block, rows]."""
        rows = self._sums[:, block]
        if self._covariance.is_factor:
            rows = self._covariance.matrix[:, :, block].transpose(0, 2, 1) @ self._sums
        return np.asarray(rows + self._errors[:, block] * rows.dtype.type(self._covariance.ridge))

    def move(self, block: slice, change: Array, begin: int) -> None:
        """Adds a change to the errors of a block; only rows from `begin` on are asked for later."""
        self._errors[:, block] += change
        matrix = self._covariance.matrix[:, :, block]
        if self._covariance.is_factor:
            self._sums += matrix @ change
        else:
            self._sums[:, begin:] += matrix[:, begin:] @ change


@dataclass
class Moments:
    """Moments of the operands of an operator's sums, by group: the number of sums, the operands'
    sums [groups, depth], and the sums of their products [groups, depth, depth]; or the `operands`
    themselves, [groups, sums, depth] each, as long as they are few.
    """

    count: int
    sums: Array
    products: Array | None = None
    operands: list[Array] = field(default_factory=list)

    @property
    def covariance(self) -> Covariance:
        """Covariance of the operands."""
        means = self.sums / self.count
        if self.products is None:
            centered = np.concatenate(self.operands, axis=1) - means[:, None]
            return Covariance((centered / self.count**0.5).astype(np.float32), is_factor=True)
        # float32, because a covariance of 4608 operands already has 85 MB.
        means = means.astype(np.float32)
        matrix = self.products / np.float32(self.count)
        matrix -= means[:, :, None] * means[:, None]
        return Covariance(matrix)

    @property
    def second(self) -> Covariance:
        """Second moments of the operands, in the form of a covariance: their means count, too."""
        if self.products is None:
            operands = np.concatenate(self.operands, axis=1)
            return Covariance((operands / self.count**0.5).astype(np.float32), is_factor=True)
        return Covariance(self.products / np.float32(self.count))

    @property
    def is_finite(self) -> bool:
        """Whether all products of operands are."""
        values = [(one**2).sum(axis=1) for one in self.operands]
        return all(np.isfinite(one).all() for one in [*values, self.products] if one is not None)

    def add(self, operands: Array) -> None:
        """Adds the operands of some sums, [groups, sums, depth]."""
        self.count += operands.shape[1]
        self.sums += operands.sum(axis=1, dtype=np.float64)
        self.operands.append(operands)
        groups, depth = self.sums.shape
        if self.count <= _FEW * depth:
            return
        if self.products is None:
            self.products = np.zeros((groups, depth, depth), np.float32)
        rows = np.concatenate(self.operands, axis=1)
        self.operands.clear()
        if groups == 1:  # of a matrix and its transpose, BLAS computes one half
            self.products[0] += rows[0].T @ rows[0]
        else:
            self.products += rows.transpose(0, 2, 1) @ rows


class Rounding:
    """Rounds the weights of one network by the moments of their operands, which are given by
    operator name; weights of others are rounded to nearest.
    """

    def __init__(self, moments: Mapping[str, Moments]) -> None:
        self._covariances = {name: moment.covariance for name, moment in moments.items()}
        self._rounded: dict[tuple[str, float, bytes], tuple[Array, Array]] = {}

    def of(self, name: str, weights: Array, scales: Array, x_scale: float) -> tuple[Array, Array]:
        """The int8 weights of an operator (see `rounded`) and the sums of their errors over
        windows, [c_out, c_in / group]; results are cached.
        """
        covariance = self._covariances.get(name)
        key = name, float(x_scale) if covariance else 0.0, scales.tobytes()
        if key not in self._rounded:
            stored = rounded(weights, scales, covariance, x_scale)
            errors = weights - stored * scales.reshape(-1, *[1] * (weights.ndim - 1))
            sums = errors.reshape(*errors.shape[:2], -1).sum(axis=2)
            self._rounded[key] = stored, sums
        return self._rounded[key]


def empty_moments(program: Program, op: Op) -> Moments | None:
    """Moments without samples; None if the operator's sums are too deep for a covariance."""
    groups = op.attributes["group"] if op.type == "conv" else 1
    depth = int(np.prod(program.vars[op.inputs[1]].shape[1:]))
    if depth > _MAX_DEPTH:
        return None
    return Moments(0, np.zeros((groups, depth)))


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
    image = x[0]
    if top or left or bottom or right:
        image = np.pad(image, ((0, 0), (top, bottom), (left, right)))
    ys = rows[:, None] * stride_h + np.arange(kernel_h) * step_h
    xs = columns[:, None] * stride_w + np.arange(kernel_w) * step_w
    windows = image[:, ys[:, :, None], xs[:, None, :]]  # [channels, pixels, kernel_h, kernel_w]
    split = windows.reshape(groups, c, len(rows), kernel_h * kernel_w).transpose(0, 2, 1, 3)
    return np.asarray(split.reshape(groups, len(rows), -1), np.float32)


def rounded(weights: Array, scales: Array, covariance: Covariance | None, x_scale: float) -> Array:
    """The int8 values, at most `WEIGHT_MAX` in magnitude, of weights [c_out, ...].

    `scales`: one per output channel. `covariance`: that of the operands; None rounds to nearest.
    `x_scale`: the quantization scale of the operands.
    """
    along = scales.reshape(-1, *[1] * (weights.ndim - 1))
    nearest = np.clip(np.rint(weights / along), -WEIGHT_MAX, WEIGHT_MAX)
    if covariance is None:
        return nearest.astype(np.int8)
    groups, _, depth = covariance.matrix.shape
    units = scales.reshape(groups, -1, 1).astype(np.float64)
    scaled = weights.reshape(groups, -1, depth) / units
    regular = covariance.with_ridge(float(x_scale) ** 2 / 12)
    chosen = _coordinate_descent(scaled.astype(np.float32), regular)
    return chosen.reshape(weights.shape).astype(np.int8)


def _coordinate_descent(scaled: Array, covariance: Covariance) -> Array:
    """Integers whose distance to `scaled`, [groups, rows, depth], has the least quadratic form."""
    depth, dtype = scaled.shape[2], scaled.dtype.type
    inverse = 1 / np.maximum(covariance.diagonal, dtype(1e-30))
    # [groups, depth, rows]: a weight of all rows, which one step rounds, is contiguous.
    values: Array = np.ascontiguousarray(scaled.transpose(0, 2, 1))
    gradient = _Gradient(covariance, np.zeros_like(values))
    for sweep in range(_SWEEPS):
        for first in range(0, depth, _BLOCK):
            block = slice(first, min(first + _BLOCK, depth))
            own, inner = values[:, block], gradient.of(block)
            before, square = own.copy(), covariance.square(block)
            for begin in range(0, block.stop - first, _PART):
                part = slice(begin, begin + _PART)
                for j in range(begin, min(part.stop, block.stop - first)):
                    best = own[:, j] + inner[:, j] * inverse[:, first + j, None]
                    new = np.minimum(np.maximum(np.rint(best), -WEIGHT_MAX), WEIGHT_MAX)
                    change, rest = own[:, j] - new, slice(j + 1, part.stop)
                    inner[:, rest] += square[:, rest, j, None] * change[:, None]
                    own[:, j] = new
                inner[:, part.stop :] += square[:, part.stop :, part] @ (
                    before[:, part] - own[:, part]
                )
            # Nothing reads the gradient of earlier weights after the last sweep.
            gradient.move(block, before - own, block.stop if sweep == _SWEEPS - 1 else 0)
    return values.transpose(0, 2, 1)
