"""Comparisons, logic, conditional selection, TopK, GatherElements."""

from __future__ import annotations

import math

import numpy as np

from trimtab.importers._graph import Array, Value
from trimtab.importers._layer import Results
from trimtab.importers.onnx_ops.node import OnnxNode, handles
from trimtab.importers.vocabulary import reduction

# The engine's relation, and whether to swap the operands.
COMPARE = {
    "Equal": ("equal", False),
    "Less": ("less", False),
    "LessOrEqual": ("less_or_equal", False),
    "Greater": ("less", True),
    "GreaterOrEqual": ("less_or_equal", True),
}


@handles(*COMPARE)
def compare(node: OnnxNode) -> Results:
    """Element-wise comparison with broadcasting."""
    relation, swapped = COMPARE[node.type]
    a, b = node.x(0), node.x(1)
    return node.add("compare", *((b, a) if swapped else (a, b)), relation=relation)


@handles("Where")
def where(node: OnnxNode) -> Results:
    """condition ? a : b, with broadcasting."""
    return node.add("where", *(node.x(i) for i in range(3)))


@handles("Not")
def not_(node: OnnxNode) -> Results:
    """Logical negation."""
    return _is(node, node.x(0), False)


@handles("And", "Or", "Xor")
def logic(node: OnnxNode) -> Results:
    """And is a ? b : a, Or is a ? a : b, Xor is inequality."""
    a, b = node.x(0), node.x(1)
    if node.type == "Xor":
        return _is(node, node.add("compare", a, b, relation="equal"), False)
    return node.add("where", *((a, b, a) if node.type == "And" else (a, a, b)))


def _is(node: OnnxNode, x: Value, value: bool) -> Value:
    return node.add("compare", x, node.constant(np.array(value), "value"), relation="equal")


@handles("IsNaN", "IsInf")
def is_special(node: OnnxNode) -> Results:
    """IsNaN is x != x; IsInf compares with the infinities of detect_positive, detect_negative."""
    x = node.x(0)
    if node.type == "IsNaN":
        return _is(node, node.add("compare", x, x, relation="equal"), False)
    positive, negative = node.integer("detect_positive", 1), node.integer("detect_negative", 1)
    if positive and negative:
        x = node.add("abs", x)
    # With neither, the result is false everywhere: nothing equals NaN.
    value = math.inf if positive else -math.inf if negative else math.nan
    return node.add("compare", x, node.constant(value, "infinity"), relation="equal")


@handles("ThresholdedRelu")
def thresholded_relu(node: OnnxNode) -> Results:
    """x for x > alpha, otherwise 0."""
    x, alpha = node.x(0), node.constant(node.real("alpha", 1.0), "alpha")
    above = node.add("compare", alpha, x, relation="less")
    return node.add("where", above, x, node.constant(0.0, "zero"))


@handles("Trilu")
def trilu(node: OnnxNode) -> Results:
    """The triangle above or below a constant diagonal."""
    x = node.x(0)
    diagonal = int(node.number(1, "diagonal")) if node.has(1) else 0
    node.check_elements((2, *x.shape[-2:]), 1)
    ones: Array = np.ones(x.shape[-2:], np.bool_)
    mask = np.triu(ones, diagonal) if node.integer("upper", 1) else np.tril(ones, diagonal)
    return node.add("where", node.constant(mask, "mask"), x, node.zero_of(x))


@handles("TopK")
def top_k(node: OnnxNode) -> Results:
    """Values and indices, always sorted; k must be constant."""
    x = node.x(0)
    return reduction.top_k(
        node,
        x,
        int(node.number(1, "k")) if node.opset >= 10 else node.integer("k"),
        node.axis(node.integer("axis", -1), len(x.shape)),
        largest=node.boolean("largest", True),
    )


@handles("GatherElements")
def gather_elements(node: OnnxNode) -> Results:
    """One index per element of the result, constant or computed."""
    axis = node.axis(node.integer("axis", 0), len(node.shape(0)))
    return node.add("gather_elements", node.x(0), node.x(1), axis=axis)
