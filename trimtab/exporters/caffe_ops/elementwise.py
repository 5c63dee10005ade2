"""Element-wise operators with one or two operands."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from trimtab.exporters._layers import Array
from trimtab.exporters.caffe_ops.convolution import mixed
from trimtab.exporters.caffe_ops.graph import CaffeOp, emits
from trimtab.importers.caffe_ops.elementwise import FUNCTIONS

_LARGEST = float(np.finfo(np.float32).max)

_LAYERS = {function.operator: type for type, function in FUNCTIONS.items() if function.operator}
_LAYERS |= {"exp": "Exp", "log": "Log", "relu": "ReLU"}
del _LAYERS["clip"], _LAYERS["swish"]  # which take several layers, as a rule


@emits(*_LAYERS)
def activation(op: CaffeOp) -> str:
    """A layer of its own."""
    type = _LAYERS[op.op.type]
    values = {name: float(op[a]) for name, a in FUNCTIONS[type].parameters.items()}
    return op.add(type, op.x(), values or None)


@emits("leaky_relu")
def leaky_relu(op: CaffeOp) -> str:
    """ReLU with a slope."""
    return op.add("ReLU", op.x(), {"negative_slope": float(op["alpha"])})


@emits("prelu")
def prelu(op: CaffeOp) -> str:
    """PReLU with a slope, or one per channel."""
    slope = op.per_channel("slope")
    if slope is None:
        raise op.refusal(f"its slope has the shape {list(op.shape('slope'))}")
    shared = {"channel_shared": True} if slope.size < op.shape()[1] else None
    return op.add("PReLU", op.x(), shared, [slope])


@emits("clip")
def clip(op: CaffeOp) -> str:
    """ReLU6, ReLU, or the larger and the smaller of the operand and a bound."""
    return clipped(op, op.x(), float(op["alpha"]), float(op["beta"]))


def clipped(op: CaffeOp, x: str, low: float, high: float) -> str:
    """Adds min(max(x, low), high), exactly: bounds are blobs, because x less a large bound would
    lose the digits of x. Few readers have the layer Clip. The largest float32 is no bound, which
    is how writers without infinity spell that.
    """
    if (low, high) == (0.0, 6.0):
        return op.add("ReLU6", x)
    if low == 0.0:
        x = op.add("ReLU", x)
    elif low > -_LARGEST:
        x = op.eltwise(x, op.power(x, scale=0.0, shift=low), "max")
    if high < _LARGEST:
        negative = op.power(x, scale=-1.0)
        bound = op.power(x, scale=0.0, shift=-high)
        x = op.power(op.eltwise(negative, bound, "max"), scale=-1.0)
    return x


@emits("hard_sigmoid")
def hard_sigmoid(op: CaffeOp) -> str:
    """A sixth of ReLU6."""
    return _hard_sigmoid(op, op.x(), op["alpha"], op["beta"])


def _hard_sigmoid(op: CaffeOp, x: str, alpha: float, beta: float) -> str:
    line = op.power(x, scale=6 * alpha, shift=6 * beta)
    return op.power(op.add("ReLU6", line), scale=1 / 6)


@emits("hard_swish")
def hard_swish(op: CaffeOp) -> str:
    """The operand times its hard sigmoid."""
    return op.eltwise(op.x(), _hard_sigmoid(op, op.x(), 1 / 6, 0.5), "mul")


@emits("swish")
def swish(op: CaffeOp) -> str:
    """Swish, or the operand times a sigmoid of the scaled operand."""
    x, factor = op.x(), op["alpha"]
    if factor == 1.0:
        return op.add("Swish", x)
    return op.eltwise(x, op.add("Sigmoid", op.power(x, scale=factor)), "mul")


@emits("softsign")
def softsign(op: CaffeOp) -> str:
    """The operand times the inverse of 1 plus its absolute value."""
    inverse = op.power(op.add("AbsVal", op.x()), shift=1.0, power=-1.0)
    return op.eltwise(op.x(), inverse, "mul")


@emits("neg")
def neg(op: CaffeOp) -> str:
    """Power with a negative scale."""
    return op.power(op.x(), scale=-1.0)


@emits("sqrt")
def sqrt(op: CaffeOp) -> str:
    """Power of a half."""
    return op.power(op.x(), power=0.5)


@emits("add", "sub", "mul", "div", "max", "min", "pow")
def binary(op: CaffeOp) -> str:
    """Eltwise of two blobs; Power or Scale of a blob and a constant."""
    for constant, x in ((1, 0), (0, 1)):
        if op.is_constant(constant):
            return _with_constant(op, x, op.constant(constant), swapped=x == 1)
    a, b = op.x(0), op.x(1)
    match op.op.type:
        case "sub":
            b = op.power(b, scale=-1.0)
        case "div":
            b = op.power(b, power=-1.0)
        case "min":
            a, b = op.power(a, scale=-1.0), op.power(b, scale=-1.0)
        case "pow":
            raise op.refusal("both operands are computed")
    operation = {"sub": "add", "div": "mul", "min": "max"}.get(op.op.type, op.op.type)
    y = _combined(op, (a, op.shape(0)), (b, op.shape(1)), operation)
    return op.power(y, scale=-1.0) if op.op.type == "min" else y


def _with_constant(op: CaffeOp, i: int, value: Array, *, swapped: bool) -> str:
    """Operand `i` and a constant; swapped: the constant is the left operand."""
    x, type = op.x(i), op.op.type
    if op.shape(i) != op.result.shape:
        raise op.refusal(f"a constant of shape {list(value.shape)} extends its other operand")
    if swapped and type == "sub":
        x, type = op.power(x, scale=-1.0), "add"
    elif swapped and type == "div":
        x, type = op.power(x, power=-1.0), "mul"
    if type == "sub":
        value, type = -value, "add"
    elif type == "div":
        value, type = np.float32(1) / value, "mul"
    if value.size > 1 and type in ("add", "mul"):
        axis, values = _aligned(op, op.shape(i), value)
        if type == "mul":
            return op.scale(x, values, axis)
        return op.scale(x, np.ones_like(values), axis, values)
    number = float(value.reshape(-1)[0])
    match type:
        case _ if value.size > 1:
            raise op.refusal(f"a constant of shape {list(value.shape)}")
        case "add":
            return op.power(x, shift=number)
        case "mul":
            return op.power(x, scale=number)
        case "max":
            return clipped(op, x, number, math.inf)
        case "min":
            return clipped(op, x, -math.inf, number)
        case _ if not swapped:
            return op.power(x, power=number)
    if number <= 0:
        raise op.refusal(f"its base is {number}")
    return op.add("Exp", x, {"base": number})


def _aligned(op: CaffeOp, shape: Sequence[int], value: Array) -> tuple[int, Array]:
    """The first axis that a constant depends on, and its values from there to the last one."""
    spread = (1,) * (len(shape) - value.ndim) + value.shape
    varies = [i for i, n in enumerate(spread) if n > 1]
    first, last = varies[0], varies[-1] + 1
    if spread[first:last] != tuple(shape[first:last]):
        raise op.refusal(f"a constant of shape {list(value.shape)} for {list(shape)}")
    return first, value.reshape(spread[first:last])


def _combined(
    op: CaffeOp, a: tuple[str, Sequence[int]], b: tuple[str, Sequence[int]], operation: str
) -> str:
    """Eltwise of two blobs, of which one may be smaller: a Scale or Bias, or it is tiled."""
    result = op.result.shape
    if a[1] == b[1]:
        return op.eltwise(a[0], b[0], operation)
    (large, _), (small, shape) = (a, b) if tuple(a[1]) == result else (b, a)
    if result not in (tuple(a[1]), tuple(b[1])):
        raise op.refusal(f"its operands have the shapes {list(a[1])} and {list(b[1])}")
    spread = (1,) * (len(result) - len(shape)) + tuple(shape)
    equal = [n == m for n, m in zip(spread, result, strict=True)]
    count = equal.index(False)
    if set(spread[count:]) == {1} and operation != "max":
        small = op.reshape(small, spread[:count])
        return op.add("Scale" if operation == "mul" else "Bias", [large, small], {"axis": 0})
    small = small if spread == tuple(shape) else op.reshape(small, spread)
    for axis, (n, m) in enumerate(zip(spread, result, strict=True)):
        if n != m and (axis, len(result)) == (1, 4):
            small = mixed(op, small, np.ones((m, 1), np.float32))  # more readers have it than Tile
        elif n != m:
            small = op.add("Tile", small, {"axis": axis, "tiles": m})
    return op.eltwise(large, small, operation)
