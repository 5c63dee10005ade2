"""Rounds weights so that sums of products change least, not each weight by itself.

What rounding does to a sum of products is an error times its operands: e x. Over samples that is
e C e + (e m)^2, with the operands' covariance C and mean m, and a bias makes up for the second
part. The first is made small by coordinates: each weight in turn takes the integer that makes up
best for what rounding the others did (QuantEase, Behdin et al. 2023; the aim is AdaRound's, Nagel
et al. 2020). Operands are rounded, too, by errors that do not depend on each other: they add their
variance to the diagonal, which keeps the answer from trusting few samples too much.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from trimtab.program import Op, Program
from trimtab.quantization.observer import Array

MOST = 127  # of a weight; -128 has no negative
_SWEEPS = 3
_BLOCK = 64  # weights of a sum that are rounded between products of matrices
_ROWS = 8  # sums that are looked at, for each weight of one
_DEEPEST = 4608  # weights of a sum: the memory of their covariance is the square
_SEED = 1


@dataclass
class Moments:
    """Of the operands of an operator's sums, by group: how many sums were seen, the sums of
    operands [groups, depth] and of their products [groups, depth, depth].
    """

    count: int
    sums: Array
    products: Array

    @property
    def covariance(self) -> Array:
        """[groups, depth, depth]."""
        means = self.sums / self.count
        return self.products / self.count - means[:, :, None] * means[:, None]

    def add(self, operands: Array) -> None:
        """Operands of sums, [groups, sums, depth]."""
        self.count += operands.shape[1]
        self.sums = self.sums + operands.sum(axis=1, dtype=np.float64)
        self.products = self.products + operands.transpose(0, 2, 1) @ operands


class Rounding:
    """Of weights by what was seen of their operands: `seen`, by the names of operators."""

    def __init__(self, seen: Mapping[str, Moments]) -> None:
        # For all operators at once: of a sum of 4608 products they are 85 MB.
        self._covariances = {
            name: found.covariance.astype(np.float32) for name, found in seen.items()
        }
        self._made: dict[tuple[str, float, bytes], Array] = {}

    def of(self, name: str, weights: Array, scales: Array, step: float) -> Array:
        """The integers of an operator's weights, as `rounded`; made once by what was seen."""
        if name not in self._covariances:
            return rounded(weights, scales, None, step)
        key = name, float(step), scales.tobytes()
        if key not in self._made:
            self._made[key] = rounded(weights, scales, self._covariances[name], step)
        return self._made[key]


NEAREST = Rounding({})


def moments(program: Program, op: Op) -> Moments | None:
    """Where nothing was seen yet; None for sums too deep to look at."""
    groups = op.attributes["group"] if op.type == "conv" else 1
    depth = int(np.prod(program.vars[op.inputs[1]].shape[1:]))
    if depth > _DEEPEST:
        return None
    return Moments(0, np.zeros((groups, depth)), np.zeros((groups, depth, depth), np.float32))


def operands(program: Program, op: Op, x: Array, samples: int, number: int) -> Array:
    """Those of some of an operator's sums, for one of so many samples: [groups, sums, depth]."""
    shape = program.vars[op.inputs[1]].shape
    depth = int(np.prod(shape[1:]))
    wanted = -(-_ROWS * depth // samples)
    rng = np.random.default_rng((_SEED, number))
    if op.type != "conv":
        rows = x.reshape(-1, depth)
        return rows[rng.permutation(len(rows))[:wanted]][None]
    *_, height, width = program.vars[op.outputs[0]].shape
    places = rng.permutation(height * width)[: max(wanted, 64)]
    return _windows(op, shape, x, places // width, places % width)


def _windows(op: Op, shape: tuple[int, ...], x: Array, rows: Array, columns: Array) -> Array:
    """What is under the windows of a convolution at these places of the first image."""
    groups = op.attributes["group"]
    _, c, kernel_h, kernel_w = shape
    (stride_h, stride_w), (step_h, step_w) = op.attributes["strides"], op.attributes["dilations"]
    top, left, bottom, right = op.attributes["pads"]
    image = np.pad(x[0], ((0, 0), (top, bottom), (left, right)))
    ys = rows[:, None] * stride_h + np.arange(kernel_h) * step_h
    xs = columns[:, None] * stride_w + np.arange(kernel_w) * step_w
    found = image[:, ys[:, :, None], xs[:, None, :]]  # [channels, places, kernel_h, kernel_w]
    split = found.reshape(groups, c, len(rows), kernel_h * kernel_w).transpose(0, 2, 1, 3)
    return np.asarray(split.reshape(groups, len(rows), -1), np.float32)


def rounded(weights: Array, scales: Array, covariance: Array | None, step: float) -> Array:
    """Integers of at most `MOST` in magnitude for weights [c_out, ...] with a scale for each
    c_out, whose operands have this covariance [groups, depth, depth] and are rounded to steps of
    that size.
    """
    along = scales.reshape(-1, *[1] * (weights.ndim - 1))
    nearest = np.clip(np.rint(weights / along), -MOST, MOST)
    if covariance is None:
        return nearest.astype(np.int8)
    groups, depth, _ = covariance.shape
    matrix = covariance + np.eye(depth) * (step**2 / 12)
    units = scales.reshape(groups, -1, 1).astype(np.float64)
    places = weights.reshape(groups, -1, depth) / units
    return _descended(places, matrix).reshape(weights.shape).astype(np.int8)


def _descended(places: Array, matrix: Array) -> Array:
    """Integers [groups, rows, depth] for these real ones, by descent along coordinates."""
    depth = places.shape[2]
    diagonal = np.maximum(np.diagonal(matrix, axis1=1, axis2=2), 1e-30)
    chosen = places.copy()
    pull = np.zeros_like(places)  # errors of all, times the matrix
    for _ in range(_SWEEPS):
        for first in range(0, depth, _BLOCK):
            block = slice(first, min(first + _BLOCK, depth))
            before = chosen[:, :, block].copy()
            inner = pull[:, :, block].copy()
            for j in range(block.stop - first):
                at = first + j
                best = chosen[:, :, at] + inner[:, :, j] / diagonal[:, at, None]
                new = np.clip(np.rint(best), -MOST, MOST)
                change = chosen[:, :, at] - new
                inner += change[:, :, None] * matrix[:, at, None, block]
                chosen[:, :, at] = new
            pull += (before - chosen[:, :, block]) @ matrix[:, block]
    return chosen
