"""Element-wise operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from trimtab.importers._layers import Value
from trimtab.importers.tflite_ops.node import Node, Results, form, handles

_UNARY: dict[str, tuple[str, dict[str, float]]] = {
    "RELU": ("relu", {}),
    "RELU6": ("clip", {"alpha": 0.0, "beta": 6.0}),
    "RELU_N1_TO_1": ("clip", {"alpha": -1.0, "beta": 1.0}),
    "RELU_0_TO_1": ("clip", {"alpha": 0.0, "beta": 1.0}),
    "ELU": ("elu", {"alpha": 1.0}),
    "LOGISTIC": ("sigmoid", {}),
    "TANH": ("tanh", {}),
    "HARD_SWISH": ("hard_swish", {}),
    "EXP": ("exp", {}),
    "LOG": ("log", {}),
    "SQRT": ("sqrt", {}),
    "ABS": ("abs", {}),
    "NEG": ("neg", {}),
}

# The engine's operator, numpy's, the options that hold a fused activation.
_BINARY: dict[str, tuple[str, Callable[[Any, Any], Any], str]] = {
    "ADD": ("add", np.add, "AddOptions"),
    "SUB": ("sub", np.subtract, "SubOptions"),
    "MUL": ("mul", np.multiply, "MulOptions"),
    "DIV": ("div", np.true_divide, "DivOptions"),
    "MAXIMUM": ("max", np.maximum, ""),
    "MINIMUM": ("min", np.minimum, ""),
    "POW": ("pow", np.power, ""),
    "FLOOR_DIV": ("", np.floor_divide, ""),
    "FLOOR_MOD": ("", np.mod, ""),
}


@handles(*_UNARY)
def unary(node: Node) -> Results:
    """y = f(x)."""
    op, attributes = _UNARY[node.type]
    x, image = node.either()
    return form(node.add(op, x, **attributes), image)


@handles("LEAKY_RELU")
def leaky_relu(node: Node) -> Results:
    """x, or alpha x."""
    x, image = node.either()
    return form(node.add("leaky_relu", x, alpha=node.options("LeakyReluOptions").Alpha()), image)


@handles("GELU")
def gelu(node: Node) -> Results:
    """The engine's alpha selects the approximation."""
    x, image = node.either()
    approximate = node.has_options("GeluOptions") and node.options("GeluOptions").Approximate()
    return form(node.add("gelu", x, alpha=1.0 if approximate else 0.0), image)


@handles("SQUARE", "RSQRT")
def power(node: Node) -> Results:
    """x x, or 1 / sqrt(x)."""
    x, image = node.either()
    if node.type == "SQUARE":
        return form(node.add("mul", x, x), image)
    return form(node.add("div", node.constant(1.0, "one"), node.add("sqrt", x)), image)


@handles("PRELU")
def prelu(node: Node) -> Results:
    """The slope, often [1, 1, c], is broadcast to x."""
    x, image = node.either()
    slope = node.known(1, "slope")
    if image:
        slope = slope.reshape((1,) * (4 - slope.ndim) + slope.shape).transpose(0, 3, 1, 2)
    return form(node.add("prelu", x, node.constant(np.ascontiguousarray(slope), "slope")), image)


def _pair(node: Node) -> tuple[Value, Value, bool]:
    """Both operands in one form: as images if one is, and the other can be seen so."""
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
            value = node.known(i, "operand")
            if value.ndim:
                value = value.reshape((1,) * (4 - value.ndim) + value.shape).transpose(0, 3, 1, 2)
            values.append(node.constant(np.ascontiguousarray(value), "operand"))
    return values[0], values[1], image


@handles(*_BINARY)
def binary(node: Node) -> Results:
    """numpy's broadcasting; some have a fused activation."""
    op, compute, options = _BINARY[node.type]
    if node.is_known(0) and node.is_known(1):
        a, b = node.known(0, "operand"), node.known(1, "operand")
        node.check_elements(np.broadcast_shapes(a.shape, b.shape))
        if node.type == "DIV" and a.dtype.kind != "f":
            compute = np.floor_divide
        return np.asarray(compute(a, b)).astype(a.dtype, copy=False)
    if not op:
        raise node.unsupported("its operands must be constant")
    a_value, b_value, image = _pair(node)
    y = node.add(op, a_value, b_value)
    function = 0
    if options and node.has_options(options):
        function = node.options(options).FusedActivationFunction()
    return form(node.activated(y, function), image)


@handles("SQUARED_DIFFERENCE")
def squared_difference(node: Node) -> Results:
    """(a - b)^2."""
    a, b, image = _pair(node)
    difference = node.add("sub", a, b)
    return form(node.add("mul", difference, difference), image)


@handles("ADD_N")
def add_n(node: Node) -> Results:
    """The sum of any number of operands."""
    y = node.x(0)
    for i in range(1, node.input_count):
        y = node.add("add", y, node.x(i))
    return y
