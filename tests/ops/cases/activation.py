"""Element-wise operators with one input, and PRelu."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.ops.cases.case import Array, Case, Const, case, floats, normal

SHAPES = ((1, 3, 5, 7), (2, 33), (1, 16, 4, 4), (5,))

# operator, id, attributes, opset; over the range below.
EVERYWHERE: list[tuple[str, str, dict[str, Any], int]] = [
    ("Relu", "", {}, 17),
    ("Relu", "opset-7", {}, 7),
    ("LeakyRelu", "", {}, 17),
    ("LeakyRelu", "alpha", {"alpha": 0.1}, 7),
    ("Elu", "", {}, 17),
    ("Elu", "alpha", {"alpha": 0.5}, 7),
    ("Shrink", "", {}, 17),
    ("Shrink", "parameters", {"lambd": 0.75, "bias": 0.25}, 17),
    ("Celu", "", {}, 17),
    ("Celu", "parameters", {"alpha": 1.25}, 17),
    ("Sigmoid", "", {}, 17),
    ("Tanh", "", {}, 17),
    ("HardSigmoid", "", {}, 17),
    ("HardSigmoid", "one-sixth", {"alpha": 1 / 6, "beta": 0.5}, 7),
    ("HardSwish", "", {}, 17),
    ("Mish", "", {}, 18),
    ("Softplus", "", {}, 17),
    ("Softsign", "", {}, 17),
    ("Gelu", "", {}, 20),
    ("Gelu", "tanh", {"approximate": "tanh"}, 20),
    ("Exp", "", {}, 17),
    ("Abs", "", {}, 17),
    ("Neg", "", {}, 17),
    ("Floor", "", {}, 17),
    ("Ceil", "", {}, 17),
    ("Round", "", {}, 17),
    ("Sin", "", {}, 17),
    ("Cos", "", {}, 17),
    ("Erf", "", {}, 17),
    ("Erf", "opset-9", {}, 9),
    ("Identity", "", {}, 17),
    ("Swish", "", {}, 24),
    ("Swish", "alpha", {"alpha": 1.7}, 24),
]


def _range(shape: tuple[int, ...]) -> Array:
    """Values on both sides of 0, some large enough to saturate, one exactly 0."""
    x = normal(*shape) * 3
    x.flat[0], x.flat[-1], x.flat[x.size // 2] = 30.0, -30.0, 0.0
    return x


def _clip() -> Iterator[Case]:
    x = _range((1, 3, 5, 7))
    low, high = Const(np.array(-1.5, np.float32)), Const(np.array(2.0, np.float32))
    yield case("both", "Clip", x, low, high)
    yield case("min", "Clip", x, low)
    yield case("max", "Clip", x, None, high)
    yield case("neither", "Clip", x)
    yield case("opset-6", "Clip", x, opset=7, min=0.0, max=6.0)
    yield case("opset-6-min", "Clip", x, opset=10, min=-0.5)
    yield case("opset-11", "Clip", x, low, high, opset=11)


def _prelu() -> Iterator[Case]:
    for shape, slope in (
        ((1, 5, 4, 6), (5, 1, 1)),
        ((2, 17, 3, 3), (1, 17, 1, 1)),
        ((1, 5, 4, 6), (1,)),
        ((1, 5, 4, 6), ()),
        ((1, 5, 4, 6), (6,)),
        ((1, 5, 4, 6), (4, 1)),
        ((1, 5, 4, 6), (5, 4, 6)),
        ((3, 7), (7,)),
        ((2, 3, 5), (3, 1)),
    ):
        id = "{}-by-{}".format(*("x".join(map(str, s)) or "scalar" for s in (shape, slope)))
        yield case(id, "PRelu", normal(*shape), Const(normal(*slope, seed="slope")))
    yield case("opset-7", "PRelu", normal(1, 5, 4, 6), Const(normal(5, 1, 1)), opset=7)


def _inverse() -> Iterator[Case]:
    """To the precision of float32, on both sides of the bounds between formulas."""
    unit = np.linspace(-0.999, 0.999, 105, dtype=np.float32)
    wide = np.linspace(-20, 20, 207, dtype=np.float32)
    for op, x in {
        "Asin": unit,
        "Acos": unit,
        "Atanh": unit,
        "Atan": wide,
        "Sinh": wide,
        "Cosh": wide,
        "Asinh": np.concatenate([wide, np.array([1e-4, -3e20, 1e30], np.float32)]),
        "Acosh": np.concatenate([np.abs(wide) + 1, np.array([1.0001, 3e20], np.float32)]),
    }.items():
        yield case("inverse", op, x, rtol=4e-6, atol=0.0)


def cases() -> Iterator[Case]:
    """Each operator with several ranks; logarithm, root and power on their domains."""
    for op, name, attributes, opset in EVERYWHERE:
        for shape in SHAPES if not name else SHAPES[:1]:
            id = name or "x".join(map(str, shape))
            # Exp of 30 is 1e13, so the relative error counts there.
            yield case(id, op, _range(shape), opset=opset, **attributes)
    for op in ("Log", "Sqrt"):
        for shape in SHAPES:
            yield case("x".join(map(str, shape)), op, np.abs(normal(*shape)) * 5 + 1e-3)
    yield from _inverse()
    yield from _clip()
    yield from _prelu()
    yield case("numbers", "Relu", np.array([np.inf, -np.inf, 0.0, 1e-30], np.float32))
    yield case("clamped", "Min", normal(3, 4), floats(0.5))
