"""Functions of one operand that are not one of the engine's operators."""

from __future__ import annotations

import math

import numpy as np

from trimtab.importers._graph import Array, Value
from trimtab.importers._layer import ImportedLayer

# Self-normalizing networks: Klambauer et al. 2017.
SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805


def leaky_relu(layer: ImportedLayer, x: Value, slope: float) -> Value:
    """x, or slope x below 0."""
    return layer.add("leaky_relu", x, alpha=slope) if slope else layer.add("relu", x)


def prelu(layer: ImportedLayer, x: Value, slope: Array) -> Value:
    """x: [n, c, ...], with one slope below 0, one per channel, or one per element."""
    if slope.ndim == 1 and slope.size > 1:
        slope = channelwise(slope, len(x.shape))
    return layer.add("prelu", x, layer.constant(np.ascontiguousarray(slope), "slope"))


def channelwise(values: Array, rank: int) -> Array:
    """Values per channel, spread over the dimensions behind the channels of `rank` in all."""
    return values.reshape(-1, *[1] * (rank - 2))


def affine(layer: ImportedLayer, x: Value, scale: Array | None, shift: Array | None) -> Value:
    """x: [n, c, ...] times factors of channels, plus offsets of channels, if there are some."""
    for op, role, values in (("mul", "scale", scale), ("add", "shift", shift)):
        if values is not None:
            x = layer.add(op, x, layer.constant(channelwise(values, len(x.shape)), role))
    return x


def celu(layer: ImportedLayer, x: Value, alpha: float) -> Value:
    """alpha (e^(x / alpha) - 1) below 0."""
    if alpha <= 0:
        raise layer.invalid(f"its alpha is {alpha}")
    return layer.scaled(layer.add("elu", layer.scaled(x, 1.0 / alpha)), alpha)


def selu(
    layer: ImportedLayer, x: Value, alpha: float = SELU_ALPHA, scale: float = SELU_SCALE
) -> Value:
    """scale elu(x)."""
    return layer.scaled(layer.add("elu", x, alpha=alpha), scale)


def gelu(layer: ImportedLayer, x: Value, tanh: float) -> Value:
    """x / 2 (1 + erf(x / sqrt 2)), or its approximation by a hyperbolic tangent."""
    # The engine's alpha selects the approximation.
    return layer.add("gelu", x, alpha=float(tanh != 0))


def softplus(layer: ImportedLayer, x: Value, beta: float) -> Value:
    """ln(1 + e^(beta x)) / beta."""
    if beta <= 0:
        raise layer.invalid(f"its beta is {beta}")
    return layer.scaled(layer.add("softplus", layer.scaled(x, beta)), 1.0 / beta)


def log_sigmoid(layer: ImportedLayer, x: Value) -> Value:
    """-ln(1 + e^-x)."""
    return layer.add("neg", layer.add("softplus", layer.add("neg", x)))


def hard_swish(layer: ImportedLayer, x: Value, alpha: float, beta: float) -> Value:
    """x clamp(alpha x + beta, 0, 1)."""
    if abs(alpha - 1 / 6) < 1e-6 and beta == 0.5:
        return layer.add("hard_swish", x)
    return layer.add("mul", x, layer.add("hard_sigmoid", x, alpha=alpha, beta=beta))


def reciprocal(layer: ImportedLayer, x: Value) -> Value:
    """1 / x."""
    return layer.add("div", layer.constant(1.0, "one"), x)


def reciprocal_root(layer: ImportedLayer, x: Value) -> Value:
    """1 / sqrt(x)."""
    return reciprocal(layer, layer.add("sqrt", x))


def square(layer: ImportedLayer, x: Value) -> Value:
    """x x."""
    return layer.add("mul", x, x)


def power(
    layer: ImportedLayer, x: Value, exponent: float, scale: float = 1.0, shift: float = 0.0
) -> Value:
    """(shift + scale x) ^ exponent."""
    y = layer.scale_and_shift(x, scale, shift)
    return y if exponent == 1.0 else layer.add("pow", y, layer.constant(exponent, "exponent"))


def exp(
    layer: ImportedLayer, x: Value, base: float, scale: float = 1.0, shift: float = 0.0
) -> Value:
    """base ^ (shift + scale x), the base e unless it is given."""
    factor = _log_of_base(layer, base)
    return layer.add("exp", layer.scale_and_shift(x, scale * factor, shift * factor))


def log(
    layer: ImportedLayer, x: Value, base: float, scale: float = 1.0, shift: float = 0.0
) -> Value:
    """log of (shift + scale x) to the base, e unless it is given."""
    factor = _log_of_base(layer, base)
    if factor == 0.0:
        raise layer.invalid("its base is 1")
    return layer.scaled(layer.add("log", layer.scale_and_shift(x, scale, shift)), 1.0 / factor)


def _log_of_base(layer: ImportedLayer, base: float) -> float:
    """-1 stands for e."""
    if base != -1.0 and not 0.0 < base < math.inf:
        raise layer.invalid(f"its base is {base}")
    return 1.0 if base == -1.0 else math.log(base)
