"""The activations of Darknet."""

from __future__ import annotations

from collections.abc import Callable

from trimtab.importers._graph import Value
from trimtab.importers.darknet_ops.layer import DarknetLayer, handles
from trimtab.importers.vocabulary.activation import selu
from trimtab.importers.vocabulary.functions import Function

Activation = Callable[[DarknetLayer, Value], Value]

# Darknet adds it to the sum in a denominator.
_TINY = 0.0001


def _loggy(layer: DarknetLayer, x: Value) -> Value:
    return layer.scale_and_shift(layer.add("sigmoid", x), 2.0, -1.0)


def _ramp(layer: DarknetLayer, x: Value) -> Value:
    """1.1 * x for x > 0, x / 10 otherwise."""
    return layer.scaled(layer.add("leaky_relu", x, alpha=1.0 / 11.0), 1.1)


def _bent(
    layer: DarknetLayer, x: Value, low: float, high: float, outside: float, inside: float
) -> Value:
    """A piecewise linear function: slope `inside` between `low` and `high`, else `outside`."""
    middle = layer.scaled(layer.add("clip", x, alpha=low, beta=high), inside - outside)
    return layer.add("add", layer.scaled(x, outside), middle)


def _plse(layer: DarknetLayer, x: Value) -> Value:
    return layer.shifted(_bent(layer, x, -4.0, 4.0, 0.01, 0.125), 0.5)


def _lhtan(layer: DarknetLayer, x: Value) -> Value:
    return _bent(layer, x, 0.0, 1.0, 0.001, 1.0)


def _hard_mish(layer: DarknetLayer, x: Value) -> Value:
    """x for x > 0, x^2 / 2 + x for -2 < x <= 0, 0 otherwise."""
    return layer.add("mul", x, layer.add("hard_sigmoid", x, alpha=0.5, beta=1.0))


def _floor(layer: DarknetLayer, x: Value) -> Value:
    """Rounds down. The conversion to an integer truncates, which rounds negative numbers up."""
    truncated = layer.add("cast", layer.add("cast", x, to="i32"), to="f32")
    # 1 where the truncated number is greater, otherwise 0.
    above = layer.scaled(layer.add("sub", truncated, x), 1e30)
    return layer.add("sub", truncated, layer.add("clip", above, alpha=0.0, beta=1.0))


def _stair(layer: DarknetLayer, x: Value) -> Value:
    """A stair of slope 1/2: constant from even to odd integers, slope 1 from odd to even ones."""
    low, half = _floor(layer, x), _floor(layer, layer.scaled(x, 0.5))
    odd = layer.add("sub", low, layer.scaled(half, 2.0))
    return layer.add("add", half, layer.add("mul", odd, layer.add("sub", x, low)))


def _normalize_channels(layer: DarknetLayer, x: Value) -> Value:
    """max(x, 0) divided by its sum over the channels of the pixel."""
    positive = layer.add("relu", x)
    return layer.add("div", positive, _sum_of_channels(layer, positive))


def _normalize_channels_softmax(layer: DarknetLayer, x: Value) -> Value:
    powers = layer.add("exp", x)
    return layer.add("div", powers, _sum_of_channels(layer, powers))


def _normalize_channels_softmax_maxval(layer: DarknetLayer, x: Value) -> Value:
    below_max = layer.add("sub", x, layer.add("reduce_max", x, axes=(1,)))
    return _normalize_channels_softmax(layer, below_max)


def _sum_of_channels(layer: DarknetLayer, x: Value) -> Value:
    return layer.shifted(layer.add("reduce_sum", x, axes=(1,)), _TINY)


ACTIVATIONS: dict[str, Activation] = {
    "linear": lambda _, x: x,
    "logistic": Function("sigmoid"),
    "loggy": _loggy,
    "relu": Function("relu"),
    "relu6": Function("clip", 0.0, 6.0),
    "elu": Function("elu", 1.0),
    "selu": selu,
    "gelu": Function("gelu", 1.0),
    "relie": Function("leaky_relu", 0.01),
    "ramp": _ramp,
    "tanh": Function("tanh"),
    "plse": _plse,
    "revleaky": Function("leaky_relu", 0.1),
    "leaky": Function("leaky_relu", 0.1),
    "stair": _stair,
    "hardtan": Function("clip", -1.0, 1.0),
    "lhtan": _lhtan,
    "swish": Function("swish", 1.0),
    "mish": Function("mish"),
    "hard_mish": _hard_mish,
    "normalize_channels": _normalize_channels,
    "normalize_channels_softmax": _normalize_channels_softmax,
    "normalize_channels_softmax_maxval": _normalize_channels_softmax_maxval,
}


def activate(layer: DarknetLayer, x: Value, default: str) -> Value:
    """Applies the activation that the layer names."""
    name = layer.options.text("activation", default)
    if name not in ACTIVATIONS:
        raise layer.unsupported(f"its activation is '{name}'")
    return ACTIVATIONS[name](layer, x)


@handles("activation")
def activation(layer: DarknetLayer) -> Value:
    """An activation as a separate layer."""
    return activate(layer, layer.image(), "linear")


@handles("logistic")
def logistic(layer: DarknetLayer) -> Value:
    """A sigmoid: the layer of a logistic cost, without the cost."""
    return layer.add("sigmoid", layer.image())
