"""Element-wise operators with several operands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trimtab.importers._graph import Operand, Value
from trimtab.importers._layer import ImportedLayer
from trimtab.program.block import NUMPY_DTYPES

# Binary operators of the engine, and numpy's functions for constant operands.
_NUMPY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.true_divide,
    "max": np.maximum,
    "min": np.minimum,
    "pow": np.power,
    "floor_div": np.floor_divide,
    "floor_mod": np.mod,
}

INTEGERS = ("i8", "u8", "i32", "i64")

# Functions of integer_arithmetic that floating-point numbers have operators of their own for.
_INTEGER_FUNCTIONS = ("add", "sub", "mul", "div", "pow", "floor_mod")


def binary(layer: ImportedLayer, op: str, a: Operand, b: Operand) -> Operand:
    """a op b; constant operands are folded, in the element type of a."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        layer.check_elements(np.broadcast_shapes(a.shape, b.shape), a.itemsize)
        if op == "div" and a.dtype.kind != "f":
            op = "floor_div"
        return np.asarray(_NUMPY[op](a, b)).astype(a.dtype, copy=False)
    return combine(layer, op, layer.value(a), layer.value(b))


def integer(layer: ImportedLayer, function: str, a: Value, b: Value) -> Value:
    """A function of two integer operands of one type."""
    return layer.add("integer_arithmetic", a, b, function=function)


def combine(layer: ImportedLayer, op: str, a: Value, b: Value) -> Value:
    """a op b of floating-point numbers, or of integers, which wrap around."""
    if op in ("max", "min") and a.dtype != "f32":
        first, second = (a, b) if op == "min" else (b, a)
        return layer.add("where", layer.add("compare", first, second, relation="less"), a, b)
    if a.dtype not in INTEGERS:
        if op.startswith("floor_"):
            raise layer.unsupported("its operands must be integers, or constant")
        return layer.add(op, a, b)
    if op == "floor_div":
        return integer(layer, "div", integer(layer, "sub", a, integer(layer, "floor_mod", a, b)), b)
    return integer(layer, op, a, b) if op in _INTEGER_FUNCTIONS else layer.add(op, a, b)


def negated(layer: ImportedLayer, x: Value) -> Value:
    """-x of floating-point numbers, or of integers, which wrap around."""
    if x.dtype not in INTEGERS:
        return layer.add("neg", x)
    return integer(layer, "sub", _zero(layer, x), x)


def absolute(layer: ImportedLayer, x: Value) -> Value:
    """|x| of floating-point numbers, or of integers, which wrap around."""
    if x.dtype not in INTEGERS:
        return layer.add("abs", x)
    return combine(layer, "max", x, negated(layer, x)) if x.dtype != "u8" else x


def signs(layer: ImportedLayer, x: Value) -> Value:
    """1 for x > 0, -1 for x < 0, otherwise x."""
    zero = _zero(layer, x)
    one = layer.value(np.ones((), NUMPY_DTYPES[x.dtype]))
    y = layer.add("where", layer.add("compare", zero, x, relation="less"), one, x)
    if x.dtype == "u8":
        return y
    minus = layer.value(-np.ones((), NUMPY_DTYPES[x.dtype]))
    return layer.add("where", layer.add("compare", x, zero, relation="less"), minus, y)


def _zero(layer: ImportedLayer, x: Value) -> Value:
    return layer.value(np.zeros((), NUMPY_DTYPES[x.dtype]))


def float_remainder(layer: ImportedLayer, a: Value, b: Value, *, floor: bool) -> Value:
    """The remainder of floating-point numbers with the sign of a, or that of b if `floor`."""
    size, divisor = layer.add("abs", a), layer.add("abs", b)
    zero = layer.constant(0.0, "zero")

    def less(x: Value, y: Value) -> Value:
        return layer.add("compare", x, y, relation="less")

    quotient = layer.add("floor", layer.add("div", size, divisor))
    # 0 times an infinite divisor is 0 here.
    none = layer.add("compare", quotient, zero, relation="equal")
    rest = layer.add("mul", quotient, divisor)
    rest = layer.add("sub", size, layer.add("where", none, zero, rest))
    # The quotient may be rounded to the next integer.
    rest = layer.add("where", less(rest, zero), layer.add("add", rest, divisor), rest)
    rest = layer.add("where", less(rest, divisor), rest, layer.add("sub", rest, divisor))
    rest = layer.add("where", less(a, zero), layer.add("neg", rest), rest)
    if not floor:
        return rest
    differs = less(layer.add("mul", rest, b), zero)
    return layer.add("where", differs, layer.add("add", rest, b), rest)


def eltwise(
    layer: ImportedLayer, op: str, operands: Sequence[Value], coefficients: Sequence[float]
) -> Value:
    """Combines operands of the same shape with `op`, each scaled by its optional coefficient."""
    if any(x.shape != operands[0].shape for x in operands):
        shapes = ", ".join(str(list(x.shape)) for x in operands)
        raise layer.invalid(f"its inputs have different shapes: {shapes}")
    if coefficients:
        if len(coefficients) != len(operands):
            raise layer.invalid(f"{len(coefficients)} coefficients for {len(operands)} inputs")
        pairs = zip(operands, coefficients, strict=True)
        operands = [layer.scaled(x, factor) for x, factor in pairs]
    return layer.combined(op, operands)
