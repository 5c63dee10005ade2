"""Element-wise layers, with one operand and with several."""

from __future__ import annotations

import math

from trimtab.importers._layers import Value, Values
from trimtab.importers.ncnn_ops.layer import NONE, Layer, handles

# Layers without parameters: the engine's operator.
PLAIN = {
    "Sigmoid": "sigmoid",
    "Swish": "swish",
    "TanH": "tanh",
    "AbsVal": "abs",
    "BNLL": "softplus",
    "Softplus": "softplus",
    "Mish": "mish",
    "Erf": "erf",
}


@handles(*PLAIN)
def plain(layer: Layer) -> Values:
    """y = f(x)."""
    return layer.add(PLAIN[layer.type], layer.x())


@handles("ReLU")
def relu(layer: Layer) -> Values:
    """Leaky with a slope."""
    slope = layer.param.real(0, 0.0)
    if slope:
        return layer.add("leaky_relu", layer.x(), alpha=slope)
    return layer.add("relu", layer.x())


@handles("PReLU")
def prelu(layer: Layer) -> Values:
    """A slope per channel, or one."""
    count, channels = layer.param.integer(0, 0), layer.x().shape[1]
    if count not in (1, channels):
        raise layer.invalid(f"it has {count} slopes for {channels} channels")
    slope = layer.channelwise(layer.raw_weights((count,), "slopes"))
    return layer.add("prelu", layer.x(), layer.constant(slope, "slope"))


@handles("Clip")
def clip(layer: Layer) -> Values:
    """Between two bounds."""
    low, high = layer.param.real(0, -math.inf), layer.param.real(1, math.inf)
    return layer.add("clip", layer.x(), alpha=low, beta=high)


@handles("ELU")
def elu(layer: Layer) -> Values:
    """alpha (e^x - 1) below 0."""
    return layer.add("elu", layer.x(), alpha=layer.param.real(0, 0.1))


@handles("CELU")
def celu(layer: Layer) -> Values:
    """alpha (e^(x / alpha) - 1) below 0."""
    alpha = layer.param.real(0, 1.0)
    if alpha <= 0:
        raise layer.invalid(f"its alpha is {alpha}")
    x = layer.scale_and_shift(layer.x(), 1.0 / alpha, 0.0)
    return layer.scale_and_shift(layer.add("elu", x), alpha, 0.0)


@handles("SELU")
def selu(layer: Layer) -> Values:
    """An ELU, scaled."""
    y = layer.add("elu", layer.x(), alpha=layer.param.real(0, 1.67326324))
    return layer.scale_and_shift(y, layer.param.real(1, 1.050700987), 0.0)


@handles("HardSigmoid")
def hard_sigmoid(layer: Layer) -> Values:
    """clamp(alpha x + beta, 0, 1)."""
    alpha, beta = layer.param.real(0, 0.2), layer.param.real(1, 0.5)
    return layer.add("hard_sigmoid", layer.x(), alpha=alpha, beta=beta)


@handles("HardSwish")
def hard_swish(layer: Layer) -> Values:
    """x clamp(alpha x + beta, 0, 1)."""
    return layer.hard_swish(layer.x(), layer.param.real(0, 0.2), layer.param.real(1, 0.5))


@handles("GELU")
def gelu(layer: Layer) -> Values:
    """Exactly, or by a hyperbolic tangent."""
    return layer.add("gelu", layer.x(), alpha=float(layer.param.integer(0, 0) != 0))


@handles("Power")
def power(layer: Layer) -> Values:
    """(shift + scale x) ^ power."""
    exponent = layer.param.real(0, 1.0)
    y = layer.scale_and_shift(layer.x(), layer.param.real(1, 1.0), layer.param.real(2, 0.0))
    return y if exponent == 1.0 else layer.add("pow", y, layer.constant(exponent, "exponent"))


@handles("Exp")
def exp(layer: Layer) -> Values:
    """base ^ (shift + scale x), the base e unless it is given."""
    factor = _log_of_base(layer)
    scale, shift = layer.param.real(1, 1.0), layer.param.real(2, 0.0)
    return layer.add("exp", layer.scale_and_shift(layer.x(), scale * factor, shift * factor))


@handles("Log")
def log(layer: Layer) -> Values:
    """log of (shift + scale x) to the base, e unless it is given."""
    factor = _log_of_base(layer)
    if factor == 0.0:
        raise layer.invalid("its base is 1")
    x = layer.scale_and_shift(layer.x(), layer.param.real(1, 1.0), layer.param.real(2, 0.0))
    return layer.scale_and_shift(layer.add("log", x), 1.0 / factor, 0.0)


def _log_of_base(layer: Layer) -> float:
    base = layer.param.real(0, -1.0)
    if base != -1.0 and not 0.0 < base < math.inf:
        raise layer.invalid(f"its base is {base}")
    return 1.0 if base == -1.0 else math.log(base)


@handles("Dropout")
def dropout(layer: Layer) -> Values:
    """Inference scales only."""
    return layer.scale_and_shift(layer.x(), layer.param.real(0, 1.0), 0.0)


# By their numbers; the engine's operators, where one of them does it.
_UNARY = {0: "abs", 1: "neg", 5: "sqrt", 7: "exp", 8: "log", 16: "tanh"}
_MISSING = {
    2: "floor",
    3: "ceil",
    9: "sine",
    10: "cosine",
    11: "tangent",
    12: "arc sine",
    13: "arc cosine",
    14: "arc tangent",
    18: "round",
    19: "trunc",
}


@handles("UnaryOp")
def unary(layer: Layer) -> Values:
    """One function of many."""
    kind = layer.param.integer(0, 0)
    x = layer.x()
    if kind in _UNARY:
        return layer.add(_UNARY[kind], x)
    if kind == 4:
        return layer.add("mul", x, x)
    if kind == 6:
        return layer.add("div", layer.constant(1.0, "one"), layer.add("sqrt", x))
    if kind == 15:
        return layer.add("div", layer.constant(1.0, "one"), x)
    if kind == 17:
        return layer.scale_and_shift(layer.add("log", x), 1.0 / math.log(10.0), 0.0)
    raise layer.unsupported(f"the engine has no {_MISSING.get(kind, f'unary function {kind}')}")


_BINARY = ("add", "sub", "mul", "div", "max", "min", "pow")
# The same with the operands exchanged, from this number on.
_SWAPPED = {7: "sub", 8: "div", 9: "pow"}


@handles("BinaryOp")
def binary(layer: Layer) -> Values:
    """Of two operands, or of one and a number; fewer dimensions are the first ones, not the last
    ones as elsewhere.
    """
    kind = layer.param.integer(0, 0)
    if not 0 <= kind < len(_BINARY) + len(_SWAPPED):
        raise layer.unsupported(f"the engine has no binary function {kind}")
    if layer.param.integer(1, 0):
        a, b = layer.x(), layer.constant(layer.param.real(2, 0.0), "b")
    else:
        layer.param.real(2, 0.0)
        a, b = layer.x(0), layer.x(1)
        a, b = _lift(layer, a, b), _lift(layer, b, a)
    return layer.add(_SWAPPED[kind], b, a) if kind in _SWAPPED else layer.add(_BINARY[kind], a, b)


def _lift(layer: Layer, x: Value, other: Value) -> Value:
    """`x` with as many dimensions as the other operand."""
    missing = len(other.shape) - len(x.shape)
    if missing <= 0:
        return x
    if len(x.shape) == 2 and x.shape[1] != other.shape[1]:
        return layer.reshape(x, (1, *[1] * missing, x.shape[1]))
    return layer.reshape(x, (*x.shape, *[1] * missing))


@handles("Eltwise")
def eltwise(layer: Layer) -> Values:
    """Product, sum with coefficients, or maximum of operands of one shape."""
    kind, coefficients = layer.param.integer(0, 0), layer.param.reals(1)
    if kind not in (0, 1, 2):
        raise layer.unsupported(f"its op_type {kind} is not known")
    operands = [layer.x(i) for i in range(max(1, len(layer.bottoms)))]
    if any(x.shape != operands[0].shape for x in operands):
        shapes = ", ".join(str(list(x.shape)) for x in operands)
        raise layer.invalid(f"its inputs differ in shape: {shapes}")
    if coefficients and kind == 1:
        if len(coefficients) != len(operands):
            raise layer.invalid(f"{len(coefficients)} coefficients for {len(operands)} inputs")
        operands = [
            layer.scale_and_shift(x, factor, 0.0)
            for x, factor in zip(operands, coefficients, strict=True)
        ]
    y = operands[0]
    for x in operands[1:]:
        y = layer.add(("mul", "add", "max")[kind], y, x)
    return y


@handles("Bias")
def bias(layer: Layer) -> Values:
    """Plus an offset per channel of an image."""
    offset = layer.raw_weights((_channels(layer, layer.param.integer(0, 0)),), "bias")
    return layer.add("add", layer.image(), layer.constant(layer.channelwise(offset), "bias"))


@handles("Scale")
def scale(layer: Layer) -> Values:
    """Times a factor per channel, learned or computed, plus learned offsets."""
    count = layer.param.integer(0, 0)
    has_bias = layer.param.integer(1, 0)
    channels = _channels(layer, layer.x().shape[1] if count == NONE else count)
    if count == NONE:
        shape = (1, channels, *[1] * (len(layer.x().shape) - 2))
        if layer.x(1).count != channels:
            raise layer.invalid(f"{layer.x(1).count} factors for {channels} channels")
        factor = layer.reshape(layer.x(1), shape)
    else:
        learned = layer.raw_weights((channels,), "factors")
        factor = layer.constant(layer.channelwise(learned), "scale")
    y = layer.add("mul", layer.x(), factor)
    if has_bias:
        offset = layer.channelwise(layer.raw_weights((channels,), "bias"))
        y = layer.add("add", y, layer.constant(offset, "bias"))
    return y


def _channels(layer: Layer, count: int) -> int:
    if count != layer.x().shape[1]:
        raise layer.invalid(f"it is for {count} channels, not {layer.x().shape[1]}")
    return count
