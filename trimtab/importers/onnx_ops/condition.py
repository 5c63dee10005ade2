"""Comparisons, logic, choices by condition, TopK, GatherElements."""

from __future__ import annotations

import math

import numpy as np

from trimtab.importers._graph import Array, Value
from trimtab.importers._layer import Results
from trimtab.importers.onnx_ops.node import OnnxNode, handles

# ONNX operator: relation of the engine, whether the operands change places.
COMPARE = {
    "Equal": ("equal", False),
    "Less": ("less", False),
    "LessOrEqual": ("less_or_equal", False),
    "Greater": ("less", True),
    "GreaterOrEqual": ("less_or_equal", True),
}


@handles(*COMPARE)
def compare(node: OnnxNode) -> Results:
    """Whether a relation holds; numpy broadcasting."""
    relation, swapped = COMPARE[node.type]
    a, b = node.x(0), node.x(1)
    return node.add("compare", *((b, a) if swapped else (a, b)), relation=relation)


@handles("Where")
def where(node: OnnxNode) -> Results:
    """a where the condition holds, else b; numpy broadcasting."""
    return node.add("where", *(node.x(i) for i in range(3)))


@handles("Not")
def not_(node: OnnxNode) -> Results:
    """Equal to false."""
    return _is(node, node.x(0), False)


@handles("And", "Or", "Xor")
def logic(node: OnnxNode) -> Results:
    """And takes b where a holds, Or where it does not; Xor says whether they differ."""
    a, b = node.x(0), node.x(1)
    if node.type == "Xor":
        return _is(node, node.add("compare", a, b, relation="equal"), False)
    return node.add("where", *((a, b, a) if node.type == "And" else (a, a, b)))


def _is(node: OnnxNode, x: Value, value: bool) -> Value:
    return node.add("compare", x, node.constant(np.array(value), "value"), relation="equal")


@handles("IsNaN", "IsInf")
def is_special(node: OnnxNode) -> Results:
    """A NaN is not equal to itself; detect_positive and detect_negative choose the infinities."""
    x = node.x(0)
    if node.type == "IsNaN":
        return _is(node, node.add("compare", x, x, relation="equal"), False)
    positive, negative = node.integer("detect_positive", 1), node.integer("detect_negative", 1)
    if positive and negative:
        x = node.add("abs", x)
    # With neither, nothing is: not even a NaN equals this one.
    value = math.inf if positive else -math.inf if negative else math.nan
    return node.add("compare", x, node.constant(value, "infinity"), relation="equal")


@handles("Sign")
def sign(node: OnnxNode) -> Results:
    """1, -1, or x where it is neither above nor below 0."""
    x, zero = node.x(0), node.constant(0.0, "zero")
    above = node.add("compare", zero, x, relation="less")
    below = node.add("compare", x, zero, relation="less")
    rest = node.add("where", below, node.constant(-1.0, "minus"), x)
    return node.add("where", above, node.constant(1.0, "plus"), rest)


@handles("ThresholdedRelu")
def thresholded_relu(node: OnnxNode) -> Results:
    """x above alpha, else 0."""
    x, alpha = node.x(0), node.constant(node.real("alpha", 1.0), "alpha")
    above = node.add("compare", alpha, x, relation="less")
    return node.add("where", above, x, node.constant(0.0, "zero"))


@handles("Shrink")
def shrink(node: OnnxNode) -> Results:
    """x - bias above lambd, x + bias below -lambd, else 0."""
    x, bias, threshold = node.x(0), node.real("bias", 0.0), node.real("lambd", 0.5)
    above = node.add("compare", node.constant(threshold, "lambd"), x, relation="less")
    below = node.add("compare", x, node.constant(-threshold, "lambd"), relation="less")
    low, high = x, x
    if bias:
        low = node.add("add", x, node.constant(bias, "bias"))
        high = node.add("sub", x, node.constant(bias, "bias"))
    rest = node.add("where", below, low, node.constant(0.0, "zero"))
    return node.add("where", above, high, rest)


@handles("Trilu")
def trilu(node: OnnxNode) -> Results:
    """The triangle above or below a diagonal, which must be known."""
    x = node.x(0)
    diagonal = int(node.number(1, "diagonal")) if node.has(1) else 0
    ones: Array = np.ones(x.shape[-2:], np.bool_)
    kept = np.triu(ones, diagonal) if node.integer("upper", 1) else np.tril(ones, diagonal)
    return node.add("where", node.constant(kept, "mask"), x, node.zero_of(x))


@handles("TopK")
def top_k(node: OnnxNode) -> Results:
    """Values and indices, always sorted; how many must be known."""
    x = node.x(0)
    return node.add_many(
        "top_k",
        x,
        outputs=2,
        k=int(node.number(1, "k")) if node.opset >= 10 else node.integer("k"),
        axis=node.axis(node.integer("axis", -1), len(x.shape)),
        largest=node.boolean("largest", True),
    )


@handles("GatherElements")
def gather_elements(node: OnnxNode) -> Results:
    """An index per element of the result, constant or computed."""
    axis = node.axis(node.integer("axis", 0), len(node.shape(0)))
    return node.add("gather_elements", node.x(0), node.x(1), axis=axis)
