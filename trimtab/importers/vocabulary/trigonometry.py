"""Inverse trigonometric and hyperbolic functions, by polynomials and the engine's operators.

The polynomials are those of Moshier's Cephes library for float32, the highest power first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from trimtab.importers._graph import Value
from trimtab.importers._layer import ImportedLayer
from trimtab.importers.vocabulary.activation import square

_ATAN = (8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1, -3.33329491539e-1)
_ASIN = (4.2163199048e-2, 2.4181311049e-2, 4.5470025998e-2, 7.4953002686e-2, 1.6666752422e-1)
_SINH = (2.03721912945e-4, 8.33028376239e-3, 1.66667160211e-1)
_ASINH = (2.0122003309e-2, -4.2699340972e-2, 7.4847586088e-2, -1.6666288134e-1)
_ATANH = (
    *(1.81740078349e-1, 8.24370301058e-2, 1.46691431730e-1),
    *(1.99782164500e-1, 3.33337300303e-1),
)
_ACOSH = (
    *(1.7596881071e-3, -7.5272886713e-3, 2.6454905019e-2),
    *(-1.1784741703e-1, 1.4142135263e0),
)


def _less(layer: ImportedLayer, x: Value, bound: float) -> Value:
    return layer.add("compare", x, layer.constant(bound, "bound"), relation="less")


def _polynomial(layer: ImportedLayer, x: Value, coefficients: Sequence[float]) -> Value:
    y = layer.scale_and_shift(x, *coefficients[:2])
    for coefficient in coefficients[2:]:
        y = layer.shifted(layer.add("mul", y, x), coefficient)
    return y


def _odd(layer: ImportedLayer, x: Value, coefficients: Sequence[float]) -> Value:
    """x + x^3 p(x^2)."""
    z = square(layer, x)
    y = layer.add("mul", layer.add("mul", _polynomial(layer, z, coefficients), z), x)
    return layer.add("add", y, x)


def _signed(layer: ImportedLayer, x: Value, size: Value) -> Value:
    """`size` with the sign of `x`."""
    return layer.add("where", _less(layer, x, 0.0), layer.add("neg", size), size)


def _minus(layer: ImportedLayer, x: Value, minuend: float) -> Value:
    return layer.scale_and_shift(x, -1.0, minuend)


def atan(layer: ImportedLayer, x: Value) -> Value:
    """The angle whose tangent is x."""
    size = layer.add("abs", x)
    inside = _less(layer, size, 1.0)
    inverse = layer.add("div", layer.constant(1.0, "one"), size)
    t = layer.add("where", inside, size, inverse)
    # An angle of more than pi / 8 is measured from pi / 4.
    low = _less(layer, t, math.tan(math.pi / 8))
    turned = layer.add("div", layer.shifted(t, -1.0), layer.shifted(t, 1.0))
    y = _odd(layer, layer.add("where", low, t, turned), _ATAN)
    y = layer.add("where", low, y, layer.shifted(y, math.pi / 4))
    y = layer.add("where", inside, y, _minus(layer, y, math.pi / 2))
    return _signed(layer, x, y)


def atan2(layer: ImportedLayer, y: Value, x: Value) -> Value:
    """The angle of the point (x, y); 0 at the origin."""
    sizes = layer.add("abs", y), layer.add("abs", x)
    zero = layer.constant(0.0, "zero")
    is_steep = layer.add("compare", sizes[1], sizes[0], relation="less")
    large = layer.add("where", is_steep, *sizes)
    is_origin = layer.add("compare", large, zero, relation="equal")
    large = layer.add("where", is_origin, layer.constant(1.0, "one"), large)
    small = layer.add("where", is_steep, sizes[1], sizes[0])
    angle = atan(layer, layer.add("div", small, large))
    angle = layer.add("where", is_steep, _minus(layer, angle, math.pi / 2), angle)
    is_left = layer.add("compare", x, zero, relation="less")
    angle = layer.add("where", is_left, _minus(layer, angle, math.pi), angle)
    is_below = layer.add("compare", y, zero, relation="less")
    return layer.add("where", is_below, layer.add("neg", angle), angle)


def _half_angle(layer: ImportedLayer, size: Value) -> Value:
    """The arc cosine of 0.5 <= size <= 1."""
    root = layer.add("sqrt", layer.scale_and_shift(size, -0.5, 0.5))
    return layer.scaled(_odd(layer, root, _ASIN), 2.0)


def asin(layer: ImportedLayer, x: Value) -> Value:
    """The angle whose sine is x."""
    size = layer.add("abs", x)
    far = _minus(layer, _half_angle(layer, size), math.pi / 2)
    y = layer.add("where", _less(layer, size, 0.5), _odd(layer, size, _ASIN), far)
    return _signed(layer, x, y)


def acos(layer: ImportedLayer, x: Value) -> Value:
    """The angle whose cosine is x."""
    size = layer.add("abs", x)
    far = _half_angle(layer, size)
    far = layer.add("where", _less(layer, x, 0.0), _minus(layer, far, math.pi), far)
    near = _minus(layer, _odd(layer, x, _ASIN), math.pi / 2)
    return layer.add("where", _less(layer, size, 0.5), near, far)


def sinh(layer: ImportedLayer, x: Value) -> Value:
    """(e^x - e^-x) / 2."""
    size = layer.add("abs", x)
    y = _half_exponentials(layer, size, "sub")
    return layer.add("where", _less(layer, size, 1.0), _odd(layer, x, _SINH), _signed(layer, x, y))


def cosh(layer: ImportedLayer, x: Value) -> Value:
    """(e^x + e^-x) / 2."""
    return _half_exponentials(layer, layer.add("abs", x), "add")


def _half_exponentials(layer: ImportedLayer, x: Value, op: str) -> Value:
    # Halves by the exponent would lose bits of a large x, halves of the result overflow early.
    root = layer.add("exp", layer.scaled(x, 0.5))
    rising = layer.add("mul", layer.scaled(root, 0.5), root)
    falling = layer.scaled(layer.add("exp", layer.add("neg", x)), 0.5)
    return layer.add(op, rising, falling)


def asinh(layer: ImportedLayer, x: Value) -> Value:
    """ln(x + sqrt(x^2 + 1))."""
    size = layer.add("abs", x)
    root = layer.add("sqrt", layer.shifted(square(layer, size), 1.0))
    far = _large(layer, size, layer.add("log", layer.add("add", size, root)))
    y = layer.add("where", _less(layer, size, 0.5), _odd(layer, size, _ASINH), far)
    return _signed(layer, x, y)


def acosh(layer: ImportedLayer, x: Value) -> Value:
    """ln(x + sqrt(x^2 - 1)) for x >= 1."""
    z = layer.shifted(x, -1.0)
    near = layer.add("mul", layer.add("sqrt", z), _polynomial(layer, z, _ACOSH))
    root = layer.add("sqrt", layer.add("mul", z, layer.shifted(x, 1.0)))
    far = _large(layer, x, layer.add("log", layer.add("add", x, root)))
    return layer.add("where", _less(layer, z, 0.5), near, far)


def _large(layer: ImportedLayer, x: Value, y: Value) -> Value:
    """ln(2 x) where the square of x overflows, otherwise y."""
    logarithm = layer.shifted(layer.add("log", x), math.log(2.0))
    return layer.add("where", _less(layer, x, 1e18), y, logarithm)


def atanh(layer: ImportedLayer, x: Value) -> Value:
    """ln((1 + x) / (1 - x)) / 2."""
    ratio = layer.add("div", layer.shifted(x, 1.0), _minus(layer, x, 1.0))
    far = layer.scaled(layer.add("log", ratio), 0.5)
    near = _odd(layer, x, _ATANH)
    return layer.add("where", _less(layer, layer.add("abs", x), 0.5), near, far)
