"""Element-wise layers with one or several operands."""

from __future__ import annotations

import math

from trimtab.importers._graph import Value
from trimtab.importers._layer import Results
from trimtab.importers.ncnn_ops.layer import HANDLERS, NONE, NcnnLayer, handles
from trimtab.importers.vocabulary import activation, elementwise
from trimtab.importers.vocabulary.functions import Function, handle_functions

handle_functions(
    HANDLERS,
    __name__,
    {
        "Sigmoid": Function("sigmoid"),
        "Swish": Function("swish"),
        "TanH": Function("tanh"),
        "AbsVal": Function("abs"),
        ("BNLL", "Softplus"): Function("softplus"),
        "Mish": Function("mish"),
        "Erf": Function("erf"),
        "ReLU": Function(activation.leaky_relu, (0, 0.0)),
        "Clip": Function("clip", (0, -math.inf), (1, math.inf)),
        "ELU": Function("elu", (0, 0.1)),
        "CELU": Function("celu", (0, 1.0)),
        "SELU": Function(activation.selu, (0, 1.67326324), (1, 1.050700987)),
        "HardSigmoid": Function("hard_sigmoid", (0, 0.2), (1, 0.5)),
        "HardSwish": Function(activation.hard_swish, (0, 0.2), (1, 0.5)),
        "GELU": Function(activation.gelu, (0, 0.0)),
        "Threshold": Function(activation.above, (0, 0.0)),
        "Shrink": Function("hard_shrink", (1, 0.5), (0, 0.0)),
        "Power": Function(activation.power, (0, 1.0), (1, 1.0), (2, 0.0)),
        "Exp": Function(activation.exp, (0, -1.0), (1, 1.0), (2, 0.0)),
        "Log": Function(activation.log, (0, -1.0), (1, 1.0), (2, 0.0)),
    },
)


@handles("Dropout")
def dropout(layer: NcnnLayer) -> Results:
    """Scales the input."""
    return layer.scaled(layer.x(), layer.param.real(0, 1.0))


@handles("PReLU")
def prelu(layer: NcnnLayer) -> Results:
    """Leaky ReLU with a learned slope, per channel or shared."""
    count, channels = layer.param.integer(0, 0), layer.x().shape[1]
    if count not in (1, channels):
        raise layer.invalid(f"it has {count} slopes for {channels} channels")
    return activation.prelu(layer, layer.x(), layer.raw_weights((count,), "slopes"))


# Unary functions by number, and the names of those that the engine lacks.
_UNARY = {
    0: Function("abs"),
    1: Function("neg"),
    2: Function("floor"),
    3: Function("ceil"),
    4: Function(activation.square),
    5: Function("sqrt"),
    6: Function(activation.rsqrt),
    7: Function("exp"),
    8: Function("log"),
    9: Function("sin"),
    10: Function("cos"),
    11: Function(activation.tangent),
    15: Function(activation.reciprocal),
    16: Function("tanh"),
    17: Function(activation.log, 10.0),
    18: Function("round"),
}
_MISSING = {
    12: "arc sine",
    13: "arc cosine",
    14: "arc tangent",
    19: "trunc",
}


@handles("UnaryOp")
def unary(layer: NcnnLayer) -> Results:
    """A unary function, selected by op_type."""
    kind = layer.param.integer(0, 0)
    if kind not in _UNARY:
        raise layer.unsupported(f"the engine has no {_MISSING.get(kind, f'unary function {kind}')}")
    return _UNARY[kind](layer, layer.x())


_BINARY = ("add", "sub", "mul", "div", "max", "min", "pow")
# Functions with swapped operands.
_SWAPPED = {7: "sub", 8: "div", 9: "pow"}


@handles("BinaryOp")
def binary(layer: NcnnLayer) -> Results:
    """A binary function of two operands, or of an operand and a number. The smaller operand is
    aligned with the first axes of the other, not the last ones.
    """
    kind = layer.param.integer(0, 0)
    if not 0 <= kind < len(_BINARY) + len(_SWAPPED):
        name = "arc tangent of two operands" if kind in (10, 11) else f"binary function {kind}"
        raise layer.unsupported(f"the engine has no {name}")
    if layer.param.integer(1, 0):
        a, b = layer.x(), layer.constant(layer.param.real(2, 0.0), "b")
    else:
        layer.param.real(2, 0.0)
        a, b = layer.x(0), layer.x(1)
        a, b = _lift(layer, a, b), _lift(layer, b, a)
    return layer.add(_SWAPPED[kind], b, a) if kind in _SWAPPED else layer.add(_BINARY[kind], a, b)


def _lift(layer: NcnnLayer, x: Value, other: Value) -> Value:
    """Reshapes `x` to the rank of the other operand."""
    missing = len(other.shape) - len(x.shape)
    if missing <= 0:
        return x
    if len(x.shape) == 2 and x.shape[1] != other.shape[1]:
        return layer.reshape(x, (1, *[1] * missing, x.shape[1]))
    return layer.reshape(x, (*x.shape, *[1] * missing))


@handles("GLU")
def glu(layer: NcnnLayer) -> Results:
    """The first half along an axis times the sigmoid of the second."""
    return activation.glu(layer, layer.x(), layer.blob_axis(layer.param.integer(0, 0)))


@handles("Eltwise")
def eltwise(layer: NcnnLayer) -> Results:
    """Product, sum with coefficients, or maximum of operands of the same shape."""
    kind, coefficients = layer.param.integer(0, 0), layer.param.reals(1)
    if kind not in (0, 1, 2):
        raise layer.unsupported(f"its op_type {kind} is not known")
    op = ("mul", "add", "max")[kind]
    return elementwise.eltwise(layer, op, layer.xs(), coefficients if kind == 1 else ())


@handles("Bias")
def bias(layer: NcnnLayer) -> Results:
    """Adds an offset per channel."""
    offset = layer.raw_weights((_channels(layer, layer.param.integer(0, 0)),), "bias")
    return activation.affine(layer, layer.image(), None, offset)


@handles("Scale")
def scale(layer: NcnnLayer) -> Results:
    """Multiplies by a factor per channel, learned or computed, and adds learned offsets."""
    count = layer.param.integer(0, 0)
    y, factors = layer.x(), None
    channels = _channels(layer, y.shape[1] if count == NONE else count)
    if count != NONE:
        factors = layer.raw_weights((channels,), "factors")
    elif layer.x(1).count != channels:
        raise layer.invalid(f"{layer.x(1).count} factors for {channels} channels")
    else:
        spread = (1, channels, *[1] * (len(y.shape) - 2))
        y = layer.add("mul", y, layer.reshape(layer.x(1), spread))
    has_bias = layer.param.integer(1, 0)
    offsets = layer.raw_weights((channels,), "bias") if has_bias else None
    return activation.affine(layer, y, factors, offsets)


def _channels(layer: NcnnLayer, count: int) -> int:
    if count != layer.x().shape[1]:
        raise layer.invalid(f"it is for {count} channels, not {layer.x().shape[1]}")
    return count
