"""Normalizations, with stored statistics or with those of the input."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from trimtab.importers._graph import Array, Value
from trimtab.importers._layer import ImportedLayer
from trimtab.importers.vocabulary import activation
from trimtab.importers.vocabulary.activation import power, square

Affine = tuple[Array | None, Array | None]
"""Optional scale and shift."""

_TINY = float(np.finfo(np.float32).tiny)


def with_defaults(affine: Affine, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Scale and shift, with ones and zeros in place of absent ones."""
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
    """Normalizes x: [n, c, ...] with stored statistics, float32[c] each."""
    statistics = {"scale": scale, "shift": shift, "mean": mean, "variance": variance}
    constants = [layer.constant(value, role) for role, value in statistics.items()]
    return layer.add("batch_normalization", x, *constants, epsilon=epsilon)


def instance_norm(layer: ImportedLayer, x: Value, affine: Affine, epsilon: float) -> Value:
    """Normalizes each channel of each image of x: [n, c, ...]; affine: float32[c] each."""
    layer.check_elements((2, *x.shape[1:2]))
    scale, shift = with_defaults(affine, x.shape[1:2])
    constants = layer.constant(scale, "scale"), layer.constant(shift, "shift")
    return layer.add("instance_normalization", x, *constants, epsilon=epsilon)


def group_norm(
    layer: ImportedLayer,
    x: Value,
    groups: int,
    affine: Affine,
    epsilon: float,
) -> Value:
    """Normalizes groups of channels of x: [n, c, ...]; affine: float32[c] each."""
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
    """Normalizes x over its axes from `axis` on; affine has their shape."""
    layer.check_elements((2, *x.shape[axis:]))
    scale = np.ones(1, np.float32) if affine[0] is None else affine[0]
    constants = [
        layer.constant(np.ascontiguousarray(np.broadcast_to(values, x.shape[axis:])), role)
        for role, values in (("scale", scale), ("shift", affine[1]))
        if values is not None
    ]
    return layer.add("layer_normalization", x, *constants, axis=axis, epsilon=epsilon)


def rms_norm(layer: ImportedLayer, x: Value, axis: int, epsilon: float) -> Value:
    """x / sqrt(mean(x^2) + epsilon), over the axes from `axis` on."""
    axes = tuple(range(axis, len(x.shape)))
    mean = layer.add("reduce_mean", square(layer, x), axes=axes)
    return layer.add("div", x, layer.add("sqrt", layer.shifted(mean, epsilon)))


def mean_variance_norm(
    layer: ImportedLayer, x: Value, axes: Sequence[int], epsilon: float, *, scaled: bool = True
) -> Value:
    """Subtracts the mean; if `scaled`, divides by the standard deviation plus epsilon."""
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
    min_square: float = 0.0,
    min_length: float = 0.0,
) -> Value:
    """x / sqrt(sum(x^2)). `added` is added to the sum; the sum and its root have minima."""
    squares = layer.shifted(layer.add("reduce_sum", square(layer, x), axes=axes), added)
    length = layer.add("sqrt", clamp_min(layer, squares, min_square))
    return layer.add("div", x, clamp_min(layer, length, min_length))


def lp_norm(
    layer: ImportedLayer, x: Value, axes: Sequence[int], order: float, min_length: float = _TINY
) -> Value:
    """x / max(|x|, min_length) with the L1 or L2 norm."""
    if order == 2:
        return l2_norm(layer, x, axes, min_length=min_length)
    if order != 1:
        raise layer.unsupported(f"its norm is of the order {order:g}")
    length = layer.add("reduce_sum", layer.add("abs", x), axes=axes)
    return layer.add("div", x, clamp_min(layer, length, min_length))


def clamp_min(layer: ImportedLayer, x: Value, minimum: float) -> Value:
    """max(x, minimum) for x >= 0. A positive minimum is at least the smallest normal float32."""
    if not math.isfinite(minimum):
        raise layer.invalid(f"its minimum is {minimum}")
    minimum = max(minimum, _TINY) if minimum else 0.0
    return layer.add("max", x, layer.constant(minimum, "least")) if minimum else x


def lrn(layer: ImportedLayer, x: Value, size: int, alpha: float, beta: float, bias: float) -> Value:
    """Local response normalization across channels; the engine divides alpha by the size."""
    return layer.add("lrn", x, size=size, alpha=alpha, beta=beta, bias=bias)


def lrn_within(
    layer: ImportedLayer, x: Value, size: int, alpha: float, beta: float, bias: float
) -> Value:
    """Local response normalization within each channel, over a square window."""
    mean = layer.add(
        "average_pool",
        square(layer, x),
        kernel_shape=(size, size),
        pads=(size // 2,) * 4,
        count_include_pad=True,
    )
    base = layer.scale_and_shift(mean, alpha, bias)
    return layer.add("mul", x, power(layer, base, -beta))
