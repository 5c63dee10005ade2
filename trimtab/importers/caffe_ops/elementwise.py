"""Element-wise layers with one or several operands."""

from __future__ import annotations

import math

from trimtab.importers._graph import Value
from trimtab.importers._layer import Results
from trimtab.importers.caffe_ops.contract import takes
from trimtab.importers.caffe_ops.layer import HANDLERS, CaffeLayer, handles
from trimtab.importers.caffe_ops.spec import ELTWISE
from trimtab.importers.vocabulary import activation, elementwise
from trimtab.importers.vocabulary.functions import Function, handle_functions

_LINE = ("scale", 1.0), ("shift", 0.0)

FUNCTIONS = {
    "Sigmoid": Function("sigmoid"),
    "TanH": Function("tanh"),
    "AbsVal": Function("abs"),
    "BNLL": Function("softplus"),
    "Mish": Function("mish"),
    "ReLU": Function(activation.leaky_relu, ("negative_slope", 0.0)),
    "ReLU6": Function("clip", 0.0, 6.0),
    "Clip": Function("clip", ("min", -math.inf), ("max", math.inf)),
    "ELU": Function("elu", ("alpha", 1.0)),
    "Swish": Function("swish", ("beta", 1.0)),
    "Threshold": Function(activation.above, ("threshold", 0.0)),
    "Power": Function(activation.power, ("power", 1.0), *_LINE),
    "Exp": Function(activation.exp, ("base", -1.0), *_LINE),
    "Log": Function(activation.log, ("base", -1.0), *_LINE),
}

handle_functions(HANDLERS, __name__, FUNCTIONS)


@handles("PReLU")
def prelu(layer: CaffeLayer) -> Results:
    """Leaky ReLU with a learned slope, per channel or shared."""
    shared = layer.param.boolean("channel_shared", False)
    slope = layer.blob(0, (1 if shared else layer.x().shape[1],), "slope")
    return activation.prelu(layer, layer.x(), slope)


@handles("Eltwise")
@takes((2, None))
def eltwise(layer: CaffeLayer) -> Results:
    """Product, sum with coefficients, or maximum of operands of the same shape."""
    param = layer.param
    operation = param.choice("operation", tuple(ELTWISE), "SUM")
    coefficients = param.reals("coeff")
    if coefficients and operation != "SUM":
        raise layer.invalid(f"it has coefficients for {operation}, only SUM may have them")
    return elementwise.eltwise(layer, ELTWISE[operation], layer.xs(), coefficients)


def _operand(layer: CaffeLayer, axis: int, axes: int, role: str) -> Value:
    """The second operand, or learned values for `axes` dimensions (-1: all following ones),
    reshaped so that it broadcasts from `axis` of the first operand on.
    """
    x = layer.x().shape
    first, learned = layer.axis(axis), not layer.has(1)
    if learned and not -1 <= axes <= len(x) - first:
        raise layer.invalid(f"num_axes {axes} from axis {first} on exceeds {len(x)} dimensions")
    shape = x[first : None if axes == -1 else first + axes] if learned else layer.x(1).shape
    if x[first : first + len(shape)] != shape:
        raise layer.invalid(f"{list(shape)} does not fit {list(x)} at axis {first}")
    spread = (*shape, *[1] * (len(x) - first - len(shape)))
    if learned:
        return layer.constant(layer.blob(0, shape, role).reshape(spread), role)
    return layer.reshape(layer.x(1), spread)


@handles("Scale")
@takes((1, 2))
def scale(layer: CaffeLayer) -> Results:
    """Multiplies by a second operand or learned factors, and adds learned offsets."""
    param = layer.param
    factor = _operand(layer, param.integer("axis", 1), param.integer("num_axes", 1), "scale")
    y = layer.add("mul", layer.x(), factor)
    if not param.boolean("bias_term", False):
        return y
    offset = layer.blob(int(not layer.has(1)), factor.shape, "bias")
    return layer.add("add", y, layer.constant(offset, "bias"))


@handles("Bias")
@takes((1, 2))
def bias(layer: CaffeLayer) -> Results:
    """Adds a second operand or learned offsets."""
    param = layer.param
    offset = _operand(layer, param.integer("axis", 1), param.integer("num_axes", 1), "bias")
    return layer.add("add", layer.x(), offset)


@handles("Axpy")
@takes((3, 3))
def axpy(layer: CaffeLayer) -> Results:
    """A factor per channel [n, c(, 1, 1)] times an image, plus another image (SENet)."""
    factor = layer.reshape(layer.x(0), (*layer.x(0).shape[:2], 1, 1))
    return layer.add("add", layer.add("mul", factor, layer.image(1)), layer.image(2))
