"""Unary functions that the engine has no single operator for."""

from __future__ import annotations

import math

import numpy as np

from trimtab.importers._graph import Array, Value
from trimtab.importers._layer import ImportedLayer

# Self-normalizing networks: Klambauer et al. 2017.
SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805


def leaky_relu(layer: ImportedLayer, x: Value, slope: float) -> Value:
    """x for x >= 0, slope * x otherwise."""
    return layer.add("leaky_relu", x, alpha=slope) if slope else layer.add("relu", x)


def prelu(layer: ImportedLayer, x: Value, slope: Array) -> Value:
    """Leaky ReLU of x: [n, c, ...] with one slope, one per channel, or one per element."""
    if slope.ndim == 1 and slope.size > 1:
        slope = channelwise(slope, len(x.shape))
    return layer.add("prelu", x, layer.constant(np.ascontiguousarray(slope), "slope"))


def channelwise(values: Array, rank: int) -> Array:
    """Values per channel, reshaped to broadcast over a tensor of `rank` dimensions."""
    return values.reshape(-1, *[1] * (rank - 2))


def affine(layer: ImportedLayer, x: Value, scale: Array | None, shift: Array | None) -> Value:
    """Scales and shifts each channel of x: [n, c, ...]; scale and shift are optional."""
    for op, role, values in (("mul", "scale", scale), ("add", "shift", shift)):
        if values is not None:
            x = layer.add(op, x, layer.constant(channelwise(values, len(x.shape)), role))
    return x


def above(layer: ImportedLayer, x: Value, threshold: float) -> Value:
    """1 for x > threshold, 0 otherwise."""
    limit = layer.constant(threshold, "threshold")
    return layer.add("cast", layer.add("compare", limit, x, relation="less"), to="f32")


def selu(
    layer: ImportedLayer, x: Value, alpha: float = SELU_ALPHA, scale: float = SELU_SCALE
) -> Value:
    """scale * elu(x)."""
    return layer.scaled(layer.add("elu", x, alpha=alpha), scale)


def gelu(layer: ImportedLayer, x: Value, tanh: float) -> Value:
    """x / 2 * (1 + erf(x / sqrt 2)), or its approximation with tanh."""
    return layer.add("gelu", x, alpha=float(tanh != 0))


def softplus(layer: ImportedLayer, x: Value, beta: float) -> Value:
    """ln(1 + e^(beta * x)) / beta."""
    if beta <= 0:
        raise layer.invalid(f"its beta is {beta}, it must be positive")
    return layer.scaled(layer.add("softplus", layer.scaled(x, beta)), 1.0 / beta)


def log_sigmoid(layer: ImportedLayer, x: Value) -> Value:
    """-ln(1 + e^-x)."""
    return layer.add("neg", layer.add("softplus", layer.add("neg", x)))


def hard_swish(layer: ImportedLayer, x: Value, alpha: float, beta: float) -> Value:
    """x * clamp(alpha * x + beta, 0, 1)."""
    if abs(alpha - 1 / 6) < 1e-6 and beta == 0.5:
        return layer.add("hard_swish", x)
    return layer.add("mul", x, layer.add("hard_sigmoid", x, alpha=alpha, beta=beta))


def tangent(layer: ImportedLayer, x: Value) -> Value:
    """sin(x) / cos(x)."""
    return layer.add("div", layer.add("sin", x), layer.add("cos", x))


def reciprocal(layer: ImportedLayer, x: Value) -> Value:
    """1 / x."""
    return layer.add("div", layer.constant(1.0, "one"), x)


def rsqrt(layer: ImportedLayer, x: Value) -> Value:
    """1 / sqrt(x)."""
    return reciprocal(layer, layer.add("sqrt", x))


def square(layer: ImportedLayer, x: Value) -> Value:
    """x * x."""
    return layer.add("mul", x, x)


def power(
    layer: ImportedLayer, x: Value, exponent: float, scale: float = 1.0, shift: float = 0.0
) -> Value:
    """(shift + scale * x) ^ exponent."""
    y = layer.scale_and_shift(x, scale, shift)
    return y if exponent == 1.0 else layer.add("pow", y, layer.constant(exponent, "exponent"))


def exp(
    layer: ImportedLayer, x: Value, base: float, scale: float = 1.0, shift: float = 0.0
) -> Value:
    """base ^ (shift + scale * x); base -1 stands for e."""
    factor = _log_of_base(layer, base)
    return layer.add("exp", layer.scale_and_shift(x, scale * factor, shift * factor))


def log(
    layer: ImportedLayer, x: Value, base: float, scale: float = 1.0, shift: float = 0.0
) -> Value:
    """Logarithm of (shift + scale * x) to the base; base -1 stands for e."""
    factor = _log_of_base(layer, base)
    if factor == 0.0:
        raise layer.invalid("its base must not be 1")
    return layer.scaled(layer.add("log", layer.scale_and_shift(x, scale, shift)), 1.0 / factor)


def glu(layer: ImportedLayer, x: Value, axis: int) -> Value:
    """The first half of x along an axis times the sigmoid of the second (Dauphin et al. 2017)."""
    half = x.shape[axis] // 2
    if x.shape[axis] % 2:
        raise layer.invalid(f"{x.shape[axis]} elements of axis {axis} have no halves")
    a, b = layer.add_many("split", x, outputs=2, axis=axis, sizes=(half, half))
    return layer.add("mul", a, layer.add("sigmoid", b))


def _log_of_base(layer: ImportedLayer, base: float) -> float:
    if base != -1.0 and not 0.0 < base < math.inf:
        raise layer.invalid(f"its base is {base}, it must be positive")
    return 1.0 if base == -1.0 else math.log(base)
