"""Element-wise layers, with one operand and with several."""

from __future__ import annotations

import math

import numpy as np

from trimtab.importers._layers import Array, Value, Values
from trimtab.importers.caffe_ops.layer import Layer, handles

# Layers without parameters: the engine's operator.
PLAIN = {
    "Sigmoid": "sigmoid",
    "TanH": "tanh",
    "AbsVal": "abs",
    "BNLL": "softplus",
    "Mish": "mish",
}


@handles(*PLAIN)
def plain(layer: Layer) -> Values:
    """y = f(x)."""
    return layer.add(PLAIN[layer.type], layer.x())


@handles("ReLU")
def relu(layer: Layer) -> Values:
    """Leaky with a negative slope."""
    slope = layer.param("relu_param").real("negative_slope", 0.0)
    return (
        layer.add("leaky_relu", layer.x(), alpha=slope) if slope else layer.add("relu", layer.x())
    )


@handles("ReLU6")
def relu6(layer: Layer) -> Values:
    """Between 0 and 6."""
    return layer.add("clip", layer.x(), alpha=0.0, beta=6.0)


@handles("Clip")
def clip(layer: Layer) -> Values:
    """Between min and max."""
    param = layer.param("clip_param")
    low, high = param.real("min", -math.inf), param.real("max", math.inf)
    return layer.add("clip", layer.x(), alpha=low, beta=high)


@handles("PReLU")
def prelu(layer: Layer) -> Values:
    """A slope per channel, or one."""
    x = layer.x()
    if layer.param("prelu_param").boolean("channel_shared", False):
        slope = layer.blob(0, (1,), "slope")
    else:
        slope = layer.blob(0, (x.shape[1],), "slope").reshape(-1, *[1] * (len(x.shape) - 2))
    return layer.add("prelu", x, layer.constant(slope, "slope"))


@handles("ELU")
def elu(layer: Layer) -> Values:
    """alpha (e^x - 1) below 0."""
    return layer.add("elu", layer.x(), alpha=layer.param("elu_param").real("alpha", 1.0))


@handles("Swish")
def swish(layer: Layer) -> Values:
    """x sigmoid(beta x)."""
    return layer.add("swish", layer.x(), alpha=layer.param("swish_param").real("beta", 1.0))


@handles("Power")
def power(layer: Layer) -> Values:
    """(shift + scale x) ^ power."""
    param = layer.param("power_param")
    exponent = param.real("power", 1.0)
    y = layer.scale_and_shift(layer.x(), param.real("scale", 1.0), param.real("shift", 0.0))
    return y if exponent == 1.0 else layer.add("pow", y, layer.constant(exponent, "exponent"))


@handles("Exp")
def exp(layer: Layer) -> Values:
    """base ^ (shift + scale x), the base e unless it is given."""
    param = layer.param("exp_param")
    factor = _log_of_base(layer, param.real("base", -1.0))
    scale, shift = param.real("scale", 1.0), param.real("shift", 0.0)
    return layer.add("exp", layer.scale_and_shift(layer.x(), scale * factor, shift * factor))


@handles("Log")
def log(layer: Layer) -> Values:
    """log of (shift + scale x) to the base, e unless it is given."""
    param = layer.param("log_param")
    factor = _log_of_base(layer, param.real("base", -1.0))
    if factor == 0.0:
        raise layer.invalid("its base is 1")
    x = layer.scale_and_shift(layer.x(), param.real("scale", 1.0), param.real("shift", 0.0))
    return layer.scale_and_shift(layer.add("log", x), 1.0 / factor, 0.0)


def _log_of_base(layer: Layer, base: float) -> float:
    if base != -1.0 and not 0.0 < base < math.inf:
        raise layer.invalid(f"its base is {base}")
    return 1.0 if base == -1.0 else math.log(base)


@handles("Eltwise")
def eltwise(layer: Layer) -> Values:
    """Product, sum with coefficients, or maximum of operands of one shape."""
    param = layer.param("eltwise_param")
    operation = param.choice("operation", ("PROD", "SUM", "MAX"), "SUM")
    coefficients = param.reals("coeff")
    operands = list(layer.bottoms)
    if any(x.shape != layer.x().shape for x in operands):
        shapes = ", ".join(str(list(x.shape)) for x in operands)
        raise layer.invalid(f"its inputs differ in shape: {shapes}")
    if coefficients and (operation != "SUM" or len(coefficients) != len(operands)):
        raise layer.invalid(f"{len(coefficients)} coefficients for {operation} of {len(operands)}")
    for i, coefficient in enumerate(coefficients):
        operands[i] = layer.scale_and_shift(operands[i], coefficient, 0.0)
    op = {"PROD": "mul", "SUM": "add", "MAX": "max"}[operation]
    y = operands[0]
    for x in operands[1:]:
        y = layer.add(op, y, x)
    return y


def _spread(layer: Layer, shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    """`shape` with ones behind it, so that it lies at `axis` of the first operand."""
    x = layer.x().shape
    if x[axis : axis + len(shape)] != shape:
        raise layer.invalid(f"{list(shape)} does not fit {list(x)} at axis {axis}")
    return (*shape, *[1] * (len(x) - axis - len(shape)))


def _covered(layer: Layer, axis: int, axes: int) -> tuple[int, ...]:
    """The sizes of `axes` dimensions of the first operand (-1: all that follow)."""
    shape = layer.x().shape[axis:]
    if axes < -1 or axes > len(shape):
        raise layer.invalid(f"num_axes {axes} from axis {axis} on is too much")
    return shape if axes == -1 else shape[:axes]


@handles("Scale")
def scale(layer: Layer) -> Values:
    """Times a second operand or learned factors, plus learned offsets."""
    param = layer.param("scale_param")
    axis = layer.axis(param.integer("axis", 1))
    axes = param.integer("num_axes", 1)
    learned = len(layer.bottoms) < 2
    shape = _covered(layer, axis, axes) if learned else layer.x(1).shape
    spread = _spread(layer, shape, axis)
    if learned:
        factor = layer.constant(layer.blob(0, shape, "scale").reshape(spread), "scale")
    else:
        factor = layer.reshape(layer.x(1), spread)
    y = layer.add("mul", layer.x(), factor)
    if param.boolean("bias_term", False):
        offset = layer.blob(1 if learned else 0, shape, "bias").reshape(spread)
        y = layer.add("add", y, layer.constant(offset, "bias"))
    return y


@handles("Bias")
def bias(layer: Layer) -> Values:
    """Plus a second operand or learned offsets."""
    param = layer.param("bias_param")
    axis = layer.axis(param.integer("axis", 1))
    axes = param.integer("num_axes", 1)
    if len(layer.bottoms) > 1:
        spread = _spread(layer, layer.x(1).shape, axis)
        return layer.add("add", layer.x(), layer.reshape(layer.x(1), spread))
    shape = _covered(layer, axis, axes)
    offset: Array = np.reshape(layer.blob(0, shape, "bias"), _spread(layer, shape, axis))
    return layer.add("add", layer.x(), layer.constant(offset, "bias"))


@handles("Axpy")
def axpy(layer: Layer) -> Values:
    """A factor per image and channel [n, c(, 1, 1)] times an image, plus another (SENet)."""
    factor: Value = layer.reshape(layer.x(0), (*layer.x(0).shape[:2], 1, 1))
    return layer.add("add", layer.add("mul", factor, layer.image(1)), layer.image(2))
