"""Element-wise operators with one or several operands."""

from __future__ import annotations

import numpy as np

from trimtab import schema
from trimtab.importers._graph import Value
from trimtab.importers._layer import Results
from trimtab.importers.onnx_ops.node import HANDLERS, OnnxNode, handles
from trimtab.importers.vocabulary import activation, trigonometry
from trimtab.importers.vocabulary.elementwise import (
    INTEGERS,
    absolute,
    combine,
    float_remainder,
    integer,
    negated,
    signs,
)
from trimtab.importers.vocabulary.functions import Function, handle_functions
from trimtab.program.block import NUMPY_DTYPES

BINARY = {"Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div", "Pow": "pow"}

BITWISE = {"BitwiseAnd": "bit_and", "BitwiseOr": "bit_or", "BitwiseXor": "bit_xor"}

VARIADIC = {"Max": "max", "Min": "min", "Sum": "add", "Mean": "add"}


# Operators of the engine, with the attributes that ONNX has.
_UNARY = {
    op.onnx: Function(
        op.name, *((a.onnx or a.name, a.default) for a in op.attributes if not a.plan)
    )
    for op in schema.operators().values()
    if op.kind == "unary" and op.onnx and not op.is_added
}

handle_functions(
    HANDLERS,
    __name__,
    {
        **_UNARY,
        "Swish": Function("swish", ("alpha", 1.0)),
        "Abs": Function(absolute),
        "Neg": Function(negated),
        "Tan": Function(activation.tangent),
        "Asin": Function(trigonometry.asin),
        "Acos": Function(trigonometry.acos),
        "Atan": Function(trigonometry.atan),
        "Sinh": Function(trigonometry.sinh),
        "Cosh": Function(trigonometry.cosh),
        "Asinh": Function(trigonometry.asinh),
        "Acosh": Function(trigonometry.acosh),
        "Atanh": Function(trigonometry.atanh),
        "Reciprocal": Function(activation.reciprocal),
        # Defaults are those of the paper, in float32.
        "Selu": Function(activation.selu, ("alpha", 1.67326319), ("gamma", 1.05070102)),
        "Sign": Function(signs),
    },
)


@handles("Gelu")
def gelu(node: OnnxNode) -> Results:
    """x / 2 * (1 + erf(x / sqrt 2)), or its approximation with tanh."""
    return activation.gelu(node, node.x(), node.text("approximate", "none") == "tanh")


@handles("Clip")
def clip(node: OnnxNode) -> Results:
    """Bounds are attributes before opset 11, later inputs, which may be computed."""
    x = node.x(0)
    if node.opset < 11:
        bounds = {"alpha": node.present("min").get("min"), "beta": node.present("max").get("max")}
        return node.add("clip", x, **{k: v for k, v in bounds.items() if v is not None})
    present = [i for i in (1, 2) if node.has(i)]
    if x.dtype == "f32" and all(node.is_known(i) for i in present):
        names = {1: "alpha", 2: "beta"}
        return node.add("clip", x, **{names[i]: node.number(i, "bound") for i in present})
    for i in present:
        x = combine(node, "max" if i == 1 else "min", x, node.x(i))
    return x


@handles("PRelu")
def prelu(node: OnnxNode) -> Results:
    """The slope broadcasts to x; before opset 7 a vector has one slope per channel."""
    slope = node.known(1, "slope")
    if node.opset < 7:
        return activation.prelu(node, node.x(), slope)
    return node.add("prelu", node.x(), node.constant(slope, "slope"))


@handles(*BINARY)
def binary(node: OnnxNode) -> Results:
    """a op b with broadcasting, of integers, too; an exponent gets the type of the base."""
    a, b = node.x(0), _as_type_of(node, 1)
    if node.opset < 7 and node.integer("broadcast", 0) and len(b.shape) < len(a.shape):
        # b is aligned with a from `axis` on, by default with the last dimensions.
        end = node.integer("axis", len(a.shape) - len(b.shape)) + len(b.shape)
        b = node.reshape(b, (*b.shape, *[1] * (len(a.shape) - end)))
    return combine(node, BINARY[node.type], a, b)


def _as_type_of(node: OnnxNode, i: int) -> Value:
    if node.type == "Pow" and node.x(0).dtype in INTEGERS:
        return _integer_exponent(node, i, node.x(0).dtype)
    if node.type != "Pow" or node.x(0).dtype != "f32" or node.dtype(i) == "f32":
        return node.x(i)
    if node.is_known(i):
        return node.constant(node.known(i, "exponent").astype(np.float32), "exponent")
    return node.add("cast", node.x(i), to="f32")


def _integer_exponent(node: OnnxNode, i: int, dtype: str) -> Value:
    if node.is_known(i):
        exponent = node.known(i, "exponent")
        if np.any(exponent != np.trunc(exponent)):
            raise node.unsupported("its base is an integer, and its exponent is not")
        return node.value(exponent.astype(NUMPY_DTYPES[dtype]))
    if node.dtype(i) not in INTEGERS:
        raise node.unsupported("its base is an integer, and its exponent is computed in float")
    return node.x(i) if node.dtype(i) == dtype else node.add("cast", node.x(i), to=dtype)


@handles("Mod")
def mod(node: OnnxNode) -> Results:
    """The remainder with the sign of b, with `fmod` that of a."""
    a, b, like_a = node.x(0), node.x(1), node.boolean("fmod", False)
    if a.dtype in INTEGERS:
        return integer(node, "remainder" if like_a else "floor_mod", a, b)
    return float_remainder(node, a, b, floor=not like_a)


@handles(*BITWISE)
def bitwise(node: OnnxNode) -> Results:
    """Bits of integers."""
    return integer(node, BITWISE[node.type], node.x(0), node.x(1))


@handles("BitwiseNot")
def bitwise_not(node: OnnxNode) -> Results:
    """The inverted bits of integers."""
    x = node.x()
    return integer(node, "bit_xor", x, node.value(~np.zeros((), NUMPY_DTYPES[x.dtype])))


@handles("BitShift")
def bit_shift(node: OnnxNode) -> Results:
    """Bits moved to the left, or to the right after copies of the sign."""
    function = f"shift_{node.text('direction').lower()}"
    return integer(node, function, node.x(0), node.x(1))


@handles(*VARIADIC)
def variadic(node: OnnxNode) -> Results:
    """Any number of operands, combined pairwise."""
    y, *others = node.xs()
    for x in others:
        y = combine(node, VARIADIC[node.type], y, x)
    if node.type == "Mean" and len(node.inputs) > 1:
        y = node.scaled(y, 1 / len(node.inputs))
    return y
