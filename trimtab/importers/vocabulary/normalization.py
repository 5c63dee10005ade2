"""Normalizations, by collected or by present statistics."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from trimtab.importers._graph import Array, Value
from trimtab.importers._layer import ImportedLayer
from trimtab.importers.vocabulary import activation
from trimtab.importers.vocabulary.activation import power, square

Affine = tuple[Array | None, Array | None]
"""Factors and offsets, as far as there are some."""

_TINY = float(np.finfo(np.float32).tiny)


def whole(affine: Affine, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Factors and offsets that change nothing, where there are none."""
    scale, shift = affine
    ones, zeros = np.ones(shape, np.float32), np.zeros(shape, np.float32)
    return ones if scale is None else scale, zeros if shift is None else shift


def batch_norm(
    layer: ImportedLayer,
    x: Value,
    scale: Array,
    shift: Array,
    mean: Array,
    variance: Array,
    epsilon: float,
) -> Value:
    """x: [n, c, ...] by collected statistics: float32[c] each."""
    parts = {"scale": scale, "shift": shift, "mean": mean, "variance": variance}
    constants = [layer.constant(value, role) for role, value in parts.items()]
    return layer.add("batch_normalization", x, *constants, epsilon=epsilon)


def instance_norm(layer: ImportedLayer, x: Value, affine: Affine, epsilon: float) -> Value:
    """x: [n, c, ...]: each channel of each image over its pixels, then factors float32[c]."""
    scale, shift = whole(affine, x.shape[1:2])
    constants = layer.constant(scale, "scale"), layer.constant(shift, "shift")
    return layer.add("instance_normalization", x, *constants, epsilon=epsilon)


def group_norm(
    layer: ImportedLayer,
    x: Value,
    groups: int,
    affine: Affine,
    epsilon: float,
) -> Value:
    """x: [n, c, ...]: groups of channels over their pixels, then factors and offsets float32[c]."""
    if len(x.shape) < 2 or groups < 1 or x.shape[1] % groups:
        raise layer.invalid(f"{groups} groups do not divide {x.shape[1]} channels")
    y = layer.reshape(x, (x.shape[0], groups, -1))
    y = layer.reshape(instance_norm(layer, y, (None, None), epsilon), x.shape)
    return activation.affine(layer, y, *affine)


def layer_norm(
    layer: ImportedLayer,
    x: Value,
    axis: int,
    affine: Affine,
    epsilon: float,
) -> Value:
    """x over its dimensions from `axis` on, then factors and offsets of their shape."""
    scale = np.ones(1, np.float32) if affine[0] is None else affine[0]
    constants = [
        layer.constant(np.ascontiguousarray(np.broadcast_to(values, x.shape[axis:])), role)
        for role, values in (("scale", scale), ("shift", affine[1]))
        if values is not None
    ]
    return layer.add("layer_normalization", x, *constants, axis=axis, epsilon=epsilon)


def rms_norm(layer: ImportedLayer, x: Value, axis: int, epsilon: float) -> Value:
    """x / sqrt(mean(x^2) + epsilon), over its dimensions from `axis` on."""
    axes = tuple(range(axis, len(x.shape)))
    mean = layer.add("reduce_mean", square(layer, x), axes=axes)
    return layer.add("div", x, layer.add("sqrt", layer.shifted(mean, epsilon)))


def mean_variance_norm(
    layer: ImportedLayer, x: Value, axes: Sequence[int], epsilon: float, *, scaled: bool = True
) -> Value:
    """Mean 0 and, if it is `scaled`, deviation 1; epsilon is added to the deviation."""
    y = layer.add("sub", x, layer.add("reduce_mean", x, axes=axes))
    if not scaled:
        return y
    variance = layer.add("reduce_mean", square(layer, y), axes=axes)
    return layer.add("div", y, layer.shifted(layer.add("sqrt", variance), epsilon))


def l2_norm(
    layer: ImportedLayer,
    x: Value,
    axes: Sequence[int],
    *,
    added: float = 0.0,
    least_square: float = 0.0,
    least: float = 0.0,
) -> Value:
    """x / sqrt(sum(x^2)): `added` to the sum, or sum or root not below a least number."""
    squares = layer.shifted(layer.add("reduce_sum", square(layer, x), axes=axes), added)
    length = layer.add("sqrt", at_least(layer, squares, least_square))
    return layer.add("div", x, at_least(layer, length, least))


def lp_norm(
    layer: ImportedLayer, x: Value, axes: Sequence[int], order: float, least: float = _TINY
) -> Value:
    """x / |x|, the sum of amounts (order 1) or the root of that of squares, or a least number."""
    if order == 2:
        return l2_norm(layer, x, axes, least=least)
    if order != 1:
        raise layer.unsupported(f"its norm is of the order {order:g}")
    length = layer.add("reduce_sum", layer.add("abs", x), axes=axes)
    return layer.add("div", x, at_least(layer, length, least))


def at_least(layer: ImportedLayer, x: Value, least: float) -> Value:
    """`x`, which is not negative, or `least`, which float32 must not round to 0."""
    if not math.isfinite(least):
        raise layer.invalid(f"its least number is {least}")
    least = max(least, _TINY) if least else 0.0
    return layer.add("max", x, layer.constant(least, "least")) if least else x


def lrn(layer: ImportedLayer, x: Value, size: int, alpha: float, beta: float, bias: float) -> Value:
    """Local response normalization across channels; alpha is divided by the size."""
    return layer.add("lrn", x, size=size, alpha=alpha, beta=beta, bias=bias)


def lrn_within(
    layer: ImportedLayer, x: Value, size: int, alpha: float, beta: float, bias: float
) -> Value:
    """Local response normalization within each channel, over a square of pixels."""
    mean = layer.add(
        "average_pool",
        square(layer, x),
        kernel_shape=(size, size),
        pads=(size // 2,) * 4,
        count_include_pad=True,
    )
    base = layer.scale_and_shift(mean, alpha, bias)
    return layer.add("mul", x, power(layer, base, -beta))
