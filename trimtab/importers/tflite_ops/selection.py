"""Logic, conditional selection, TOPK_V2 and ONE_HOT."""

from __future__ import annotations

import numpy as np

from trimtab.importers._graph import Array, Value
from trimtab.importers.tflite_ops.forms import Results
from trimtab.importers.tflite_ops.node import TfliteNode, handles
from trimtab.importers.vocabulary import movement, reduction
from trimtab.importers.vocabulary.elementwise import signs
from trimtab.program.block import NUMPY_DTYPES


def _is(node: TfliteNode, x: Value, value: bool) -> Value:
    return node.add("compare", x, node.constant(np.array(value), "value"), relation="equal")


@handles("LOGICAL_NOT")
def logical_not(node: TfliteNode) -> Results:
    """Logical negation."""
    if node.is_known(0):
        return np.asarray(np.logical_not(node.known(0, "operand")))
    return _is(node, node.x(), False)


@handles("LOGICAL_AND", "LOGICAL_OR")
def logic(node: TfliteNode) -> Results:
    """AND is a ? b : a, OR is a ? a : b."""
    is_and = node.type == "LOGICAL_AND"
    constants = [i for i in range(2) if node.is_known(i)]
    if len(constants) == 2:
        function = np.logical_and if is_and else np.logical_or
        return np.asarray(function(node.known(0, "operand"), node.known(1, "operand")))
    if constants and node.shape(0) == node.shape(1):
        # One operand may decide, as in the condition of a loop.
        value, other = node.known(constants[0], "operand"), node.operand(1 - constants[0])
        if value.size and (value == value.reshape(-1)[0]).all():
            return value if bool(value.reshape(-1)[0]) is not is_and else other
    a, b = node.x(0), node.x(1)
    return node.add("where", *((a, b, a) if is_and else (a, a, b)))


@handles("NOT_EQUAL")
def not_equal(node: TfliteNode) -> Results:
    """Inequality with broadcasting."""
    if node.is_known(0) and node.is_known(1):
        return np.asarray(np.not_equal(*(node.numbers(i, "operand") for i in range(2))))
    return _is(node, node.add("compare", node.x(0), node.x(1), relation="equal"), False)


@handles("SELECT", "SELECT_V2")
def select(node: TfliteNode) -> Results:
    """condition ? a : b, with broadcasting; a vector of conditions of SELECT selects rows."""
    if all(node.is_known(i) for i in range(3)) and node.type == "SELECT_V2":
        choice, *ways = (node.numbers(i, "operand") for i in range(3))
        return np.asarray(np.where(choice.astype(bool), *ways))
    condition, a, b = (node.x(i) for i in range(3))
    if any(node.quantization(i) for i in (1, 2)):
        raise node.unsupported("its operands are quantized")
    if node.type == "SELECT" and len(condition.shape) == 1:
        condition = node.reshape(condition, (-1, *[1] * (len(a.shape) - 1)))
    return node.add("where", condition, a, b)


@handles("SIGN")
def sign(node: TfliteNode) -> Results:
    """1 for x > 0, -1 for x < 0, otherwise x."""
    return signs(node, node.x(0))


@handles("ZEROS_LIKE")
def zeros_like(node: TfliteNode) -> Results:
    """A constant of zeros in the shape of x."""
    x = node.x()
    node.check_elements(x.shape, 8)
    return np.zeros(x.shape, NUMPY_DTYPES[x.dtype])


@handles("TOPK_V2")
def top_k(node: TfliteNode) -> Results:
    """The largest values along the last axis in their order, and their indices; constant k."""
    x, (k,) = node.x(), node.ints(1, "k")
    if node.quantization(0):
        raise node.unsupported("its operand is quantized")
    values, indices = reduction.top_k(node, x, k, len(x.shape) - 1)
    return values, node.add("cast", indices, to="i32")


@handles("ONE_HOT")
def one_hot(node: TfliteNode) -> Results:
    """One of two values: the first at the index, along a new axis; constant depth."""
    indices, (depth,) = node.x(0), node.ints(1, "depth")
    rank = len(indices.shape)
    axis = node.options("OneHotOptions").Axis()
    axis = rank if axis == -1 else node.axis(axis, rank + 1)
    node.check_elements((2, depth), 8)
    places: Array = np.arange(depth, dtype=NUMPY_DTYPES[indices.dtype])
    column = node.value(movement.unsqueezed(node, indices, axis))
    at = node.constant(places.reshape(-1, *[1] * (rank - axis)), "places")
    is_hot = node.add("compare", column, at, relation="equal")
    return node.add("where", is_hot, node.x(2), node.x(3))


@handles("REDUCE_ANY", "REDUCE_ALL")
def reduce_logic(node: TfliteNode) -> Results:
    """Whether any or all elements along constant axes are true."""
    x = node.add("cast", node.x(), to="f32")
    axes = tuple({node.axis(axis, len(x.shape)) for axis in node.ints(1, "axes")})
    keep = bool(node.options("ReducerOptions").KeepDims())
    op = "reduce_max" if node.type == "REDUCE_ANY" else "reduce_min"
    y = node.add(op, x, axes=axes, keep_dims=keep)
    return node.add("cast", y, to="bool")
