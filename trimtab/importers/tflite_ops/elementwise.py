"""Element-wise operators."""

from __future__ import annotations

import numpy as np

from trimtab.importers._graph import Array, Value
from trimtab.importers.tflite_ops.forms import Results, form
from trimtab.importers.tflite_ops.node import HANDLERS, TfliteNode, handles
from trimtab.importers.vocabulary import activation, elementwise, trigonometry
from trimtab.importers.vocabulary.functions import Function, handle_functions
from trimtab.importers.vocabulary.movement import TO_CHANNELS_FIRST

# The engine's operator, and the options with a fused activation.
_BINARY = {
    "ADD": ("add", "AddOptions"),
    "SUB": ("sub", "SubOptions"),
    "MUL": ("mul", "MulOptions"),
    "DIV": ("div", "DivOptions"),
    "MAXIMUM": ("max", ""),
    "MINIMUM": ("min", ""),
    "POW": ("pow", ""),
    "FLOOR_DIV": ("floor_div", ""),
    "FLOOR_MOD": ("floor_mod", ""),
    "STABLEHLO_ADD": ("add", ""),
    "STABLEHLO_MULTIPLY": ("mul", ""),
    "STABLEHLO_MAXIMUM": ("max", ""),
    "STABLEHLO_MINIMUM": ("min", ""),
}


def _applied(node: TfliteNode, function: Function) -> Results:
    x, image = node.either()
    return form(function(node, x), image)


handle_functions(
    HANDLERS,
    __name__,
    {
        "RELU": Function("relu"),
        "RELU6": Function("clip", 0.0, 6.0),
        "RELU_N1_TO_1": Function("clip", -1.0, 1.0),
        "RELU_0_TO_1": Function("clip", 0.0, 1.0),
        "ELU": Function("elu", 1.0),
        "LOGISTIC": Function("sigmoid"),
        "TANH": Function("tanh"),
        "HARD_SWISH": Function("hard_swish"),
        "EXP": Function("exp"),
        "LOG": Function("log"),
        "SQRT": Function("sqrt"),
        "ABS": Function(elementwise.absolute),
        "NEG": Function(elementwise.negated),
        "CEIL": Function("ceil"),
        "FLOOR": Function("floor"),
        "ROUND": Function("round"),
        "SIN": Function("sin"),
        "COS": Function("cos"),
        "SQUARE": Function(activation.square),
        "RSQRT": Function(activation.rsqrt),
    },
    _applied,
)


@handles("LEAKY_RELU")
def leaky_relu(node: TfliteNode) -> Results:
    """x for x >= 0, alpha * x otherwise."""
    x, image = node.either()
    return form(node.add("leaky_relu", x, alpha=node.options("LeakyReluOptions").Alpha()), image)


@handles("GELU")
def gelu(node: TfliteNode) -> Results:
    """x / 2 * (1 + erf(x / sqrt 2)), or its approximation with tanh."""
    x, image = node.either()
    approximate = node.has_options("GeluOptions") and node.options("GeluOptions").Approximate()
    return form(activation.gelu(node, x, bool(approximate)), image)


@handles("PRELU")
def prelu(node: TfliteNode) -> Results:
    """Leaky ReLU with a learned slope, which broadcasts to x."""
    x, image = node.either()
    slope = node.numbers(1, "slope")
    slope = _channels_first(slope) if image else slope
    return form(node.add("prelu", x, node.constant(slope, "slope")), image)


def _channels_first(value: Array) -> Array:
    """Transposes an array that broadcasts to [n, h, w, c] for broadcasting to [n, c, h, w]."""
    lifted = value.reshape((1,) * (4 - value.ndim) + value.shape)
    return np.ascontiguousarray(lifted.transpose(TO_CHANNELS_FIRST))


def _pair(node: TfliteNode) -> tuple[Value, Value, bool]:
    """Both operands in the same form: as images if one is an image and the other can be one."""
    shapes = [node.shape(i) for i in range(2)]
    image = any(node.is_image(i) for i in range(2)) and all(
        len(shape) == 4 or node.is_known(i) for i, shape in enumerate(shapes)
    )
    values = []
    for i, shape in enumerate(shapes):
        if not image:
            values.append(node.x(i))
        elif len(shape) == 4:
            values.append(node.image(i))
        else:
            value = node.numbers(i, "operand")
            array = _channels_first(value) if value.ndim else value
            values.append(node.constant(array, "operand"))
    return values[0], values[1], image


@handles(*_BINARY)
def binary(node: TfliteNode) -> Results:
    """A binary operator with broadcasting, possibly with a fused activation."""
    op, options = _BINARY[node.type]
    if node.is_known(0) and node.is_known(1):
        return elementwise.binary(node, op, *(node.numbers(i, "operand") for i in range(2)))
    if node.type.startswith("STABLEHLO_") and any(node.quantization(i) for i in range(2)):
        raise node.unsupported("its operands are quantized")  # it computes on stored integers
    a, b, image = _pair(node)
    if op == "floor_div" and a.dtype == "f32":
        if any(node.quantization(i) for i in range(2)):
            # TFLite divides the stored integers and ignores their scales.
            raise node.unsupported("its operands are quantized")
        return form(node.add("floor", node.add("div", a, b)), image)
    if op == "floor_mod" and a.dtype == "f32":
        return form(elementwise.float_remainder(node, a, b, floor=True), image)
    y = node.value(elementwise.binary(node, op, a, b))
    if options and node.has_options(options):
        y = node.activated(y, node.options(options).FusedActivationFunction())
    return form(y, image)


_NUMPY = {
    "EQUAL": np.equal,
    "LESS": np.less,
    "LESS_EQUAL": np.less_equal,
    "GREATER": np.greater,
    "GREATER_EQUAL": np.greater_equal,
}

# The engine's relation, and whether to swap the operands.
_COMPARE = {
    "EQUAL": ("equal", False),
    "LESS": ("less", False),
    "LESS_EQUAL": ("less_or_equal", False),
    "GREATER": ("less", True),
    "GREATER_EQUAL": ("less_or_equal", True),
}


@handles(*_COMPARE)
def compare(node: TfliteNode) -> Results:
    """A comparison with broadcasting."""
    relation, swapped = _COMPARE[node.type]
    if node.is_known(0) and node.is_known(1):
        return np.asarray(_NUMPY[node.type](*(node.numbers(i, "operand") for i in range(2))))
    a, b, image = _pair(node)
    return form(node.add("compare", *((b, a) if swapped else (a, b)), relation=relation), image)


@handles("SQUARED_DIFFERENCE")
def squared_difference(node: TfliteNode) -> Results:
    """(a - b)^2."""
    a, b, image = _pair(node)
    return form(activation.square(node, node.add("sub", a, b)), image)


_BITS = {
    "RIGHT_SHIFT": "shift_right",
    "STABLEHLO_SHIFT_LEFT": "shift_left",
    "BITWISE_XOR": "bit_xor",
}


@handles(*_BITS)
def bits(node: TfliteNode) -> Results:
    """A shift of bits, or the exclusive or of integers."""
    return elementwise.integer(node, _BITS[node.type], node.x(0), node.x(1))


@handles("ATAN2")
def atan2(node: TfliteNode) -> Results:
    """The angle of the point (b, a), in radians."""
    a, b, image = _pair(node)
    return form(trigonometry.atan2(node, a, b), image)


@handles("FAKE_QUANT")
def fake_quant(node: TfliteNode) -> Results:
    """Values rounded to those of an unsigned integer with the nearest range that has 0."""
    options = node.options("FakeQuantOptions")
    x, image = node.either()
    low, high = np.float32(options.Min()), np.float32(options.Max())
    last = 2.0 ** options.NumBits() - 1
    if node.quantization(0) or x.dtype != "f32":
        raise node.unsupported("its operand is not float32")
    if options.NarrowRange():
        raise node.unsupported("its range is narrow, which TFLite refuses, too")
    if not low < high or not 2 <= options.NumBits() <= 16:
        raise node.invalid(f"its range is {low} to {high} with {options.NumBits()} bits")
    scale = (high - low) / np.float32(last)
    point = np.clip(np.floor(np.float32(0.5) - low / scale), 0, last)
    begin, end = (float(np.float32(edge - point) * scale) for edge in (0, last))
    steps = node.shifted(node.add("clip", x, alpha=begin, beta=end), -begin)
    steps = node.scale_and_shift(steps, float(np.float32(1) / scale), 0.5)
    return form(node.scale_and_shift(node.add("floor", steps), float(scale), begin), image)


@handles("BUCKETIZE")
def bucketize(node: TfliteNode) -> Results:
    """The number of constant boundaries that are not above x."""
    x, options = node.x(), node.options("BucketizeOptions")
    if node.quantization(0):
        raise node.unsupported("its operand is quantized")
    x = x if x.dtype == "f32" else node.add("cast", x, to="f32")
    count = options.BoundariesLength()
    node.check_elements((count,))
    if not count:
        node.check_elements(x.shape)
        return np.zeros(x.shape, np.int32)
    ends = np.array([options.Boundaries(i) for i in range(count)], np.float32)
    column = node.reshape(x, (*x.shape, 1))
    is_reached = node.add("compare", node.value(ends), column, relation="less_or_equal")
    numbers = node.add("cast", is_reached, to="f32")
    total = node.add("reduce_sum", numbers, axes=(len(x.shape),), keep_dims=False)
    return node.add("cast", total, to="i32")


@handles("ADD_N")
def add_n(node: TfliteNode) -> Results:
    """The sum of any number of operands."""
    return node.combined("add", node.xs())
