"""Element-wise layers with one or several operands."""

from __future__ import annotations

import math

from trimtab.importers._graph import Value
from trimtab.importers._layer import Results
from trimtab.importers.ncnn_ops.layer import HANDLERS, NONE, NcnnLayer, handles
from trimtab.importers.vocabulary import activation, elementwise
from trimtab.importers.vocabulary.functions import Function, handle_functions

_LINE = ("scale", 1.0), ("shift", 0.0)

FUNCTIONS = {
    "Sigmoid": Function("sigmoid"),
    "Swish": Function("swish"),
    "TanH": Function("tanh"),
    "AbsVal": Function("abs"),
    "BNLL": Function("softplus"),
    "Softplus": Function("softplus"),
    "Mish": Function("mish"),
    "Erf": Function("erf"),
    "ReLU": Function(activation.leaky_relu, ("slope", 0.0)),
    "Clip": Function("clip", ("min", -math.inf), ("max", math.inf)),
    "ELU": Function("elu", ("alpha", 0.1)),
    "CELU": Function("celu", ("alpha", 1.0)),
    "SELU": Function(activation.selu, ("alpha", 1.67326324), ("lambda", 1.050700987)),
    "HardSigmoid": Function("hard_sigmoid", ("alpha", 0.2), ("beta", 0.5)),
    "HardSwish": Function(activation.hard_swish, ("alpha", 0.2), ("beta", 0.5)),
    "GELU": Function(activation.gelu, ("fast_gelu", 0.0)),
    "Threshold": Function(activation.above, ("threshold", 0.0)),
    "Shrink": Function("hard_shrink", ("lambd", 0.5), ("bias", 0.0)),
    "Power": Function(activation.power, ("power", 1.0), *_LINE),
    "Exp": Function(activation.exp, ("base", -1.0), *_LINE),
    "Log": Function(activation.log, ("base", -1.0), *_LINE),
}

handle_functions(HANDLERS, __name__, FUNCTIONS)


@handles("Dropout")
def dropout(layer: NcnnLayer) -> Results:
    """Scales the input."""
    return layer.scaled(layer.x(), layer.param.real("scale", 1.0))


@handles("PReLU")
def prelu(layer: NcnnLayer) -> Results:
    """Leaky ReLU with a learned slope, per channel or shared."""
    count, channels = layer.param.integer("num_slope", 0), layer.x().shape[1]
    if count not in (1, channels):
        raise layer.invalid(f"it has {count} slopes for {channels} channels")
    return activation.prelu(layer, layer.x(), layer.raw_weights((count,), "slopes"))


# Functions of UnaryOp that are composed; the others are operators of the engine.
_COMPOSED = {
    "square": Function(activation.square),
    "rsqrt": Function(activation.rsqrt),
    "tan": Function(activation.tangent),
    "reciprocal": Function(activation.reciprocal),
    "log10": Function(activation.log, 10.0),
}
_MISSING = {"asin": "arc sine", "acos": "arc cosine", "atan": "arc tangent", "trunc": "trunc"}
_MISSING |= dict.fromkeys(("atan2", "ratan2"), "arc tangent of two operands")


def _function(layer: NcnnLayer, kind: str) -> str:
    """The name of the function that op_type selects; refuses those that the engine lacks."""
    name = layer.param.choice("op_type")
    if not name or name in _MISSING:
        unknown = f"{kind} function {layer.param.text('op_type')}"
        raise layer.unsupported(f"the engine has no {_MISSING.get(name, unknown)}")
    return name


@handles("UnaryOp")
def unary(layer: NcnnLayer) -> Results:
    """A unary function, selected by op_type."""
    name = _function(layer, "unary")
    return _COMPOSED.get(name, Function(name))(layer, layer.x())


@handles("BinaryOp")
def binary(layer: NcnnLayer) -> Results:
    """A binary function of two operands, or of an operand and a number. The smaller operand is
    aligned with the first axes of the other, not the last ones.
    """
    name = _function(layer, "binary")
    number = layer.param.real("b", 0.0)
    if layer.param.integer("with_scalar", 0):
        a, b = layer.x(), layer.constant(number, "b")
    else:
        a, b = layer.x(0), layer.x(1)
        a, b = _lift(layer, a, b), _lift(layer, b, a)
    return layer.add(name[1:], b, a) if name.startswith("r") else layer.add(name, a, b)


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
    return activation.glu(layer, layer.x(), layer.blob_axis(layer.param.integer("axis", 0)))


@handles("Eltwise")
def eltwise(layer: NcnnLayer) -> Results:
    """Product, sum with coefficients, or maximum of operands of the same shape."""
    op, coefficients = layer.param.choice("op_type"), layer.param.reals("coeffs")
    if not op:
        raise layer.unsupported(f"its op_type {layer.param.text('op_type')} is not known")
    return elementwise.eltwise(layer, op, layer.xs(), coefficients if op == "add" else ())


@handles("Bias")
def bias(layer: NcnnLayer) -> Results:
    """Adds an offset per channel."""
    count = _channels(layer, layer.param.integer("bias_data_size", 0))
    offset = layer.raw_weights((count,), "bias")
    return activation.affine(layer, layer.image(), None, offset)


@handles("Scale")
def scale(layer: NcnnLayer) -> Results:
    """Multiplies by a factor per channel, learned or computed, and adds learned offsets."""
    count = layer.param.integer("scale_data_size", 0)
    y, factors = layer.x(), None
    channels = _channels(layer, y.shape[1] if count == NONE else count)
    if count != NONE:
        factors = layer.raw_weights((channels,), "factors")
    elif layer.x(1).count != channels:
        raise layer.invalid(f"{layer.x(1).count} factors for {channels} channels")
    else:
        spread = (1, channels, *[1] * (len(y.shape) - 2))
        y = layer.add("mul", y, layer.reshape(layer.x(1), spread))
    has_bias = layer.param.integer("bias_term", 0)
    offsets = layer.raw_weights((channels,), "bias") if has_bias else None
    return activation.affine(layer, y, factors, offsets)


def _channels(layer: NcnnLayer, count: int) -> int:
    if count != layer.x().shape[1]:
        raise layer.invalid(f"it is for {count} channels, not {layer.x().shape[1]}")
    return count
