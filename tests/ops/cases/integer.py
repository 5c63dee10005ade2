"""Arithmetic and bits of integers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.ops.cases.case import Array, Case, Const, case, floats
from tests.ops.cases.condition import SHAPES

RNG = np.random.default_rng(17)


def _values(shape: tuple[int, ...], dtype: type, size: int = 1000) -> Array:
    values: Array = np.asarray(RNG.integers(-size, size, shape)).astype(dtype)
    return values


def _divisors(shape: tuple[int, ...], dtype: type) -> Array:
    values = _values(shape, dtype, 9)
    return np.where(values == 0, dtype(7), values)


def cases() -> Iterator[Case]:
    """All functions, types and forms of broadcasting; values at the ends of int64."""
    for id, (a, b) in SHAPES.items():
        for op in ("Add", "Sub", "Mul"):
            yield case(f"i64-{id}", op, _values(a, np.int64), _values(b, np.int64))
        yield case(f"i32-{id}", "Div", _values(a, np.int32), _divisors(b, np.int32))
    for dtype in (np.int32, np.int64):
        name, shape = np.dtype(dtype).name, (4, 7)
        for fmod in (0, 1):
            operands = _values(shape, dtype), _divisors((7,), dtype)
            yield case(f"{name}-{fmod}", "Mod", *operands, opset=13, fmod=fmod)
        exponents = np.abs(_values((7,), dtype, 5))
        yield case(name, "Pow", _values(shape, dtype, 9), exponents, opset=15)
        yield case(f"{name}-float", "Pow", _values(shape, dtype, 9), floats(3))
        ends = np.array([np.iinfo(dtype).max, np.iinfo(dtype).min, -1], dtype)
        for op in ("Add", "Sub", "Mul"):
            yield case(f"{name}-ends", op, ends, ends[:, np.newaxis].copy())
    for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
        for type in (np.int8, np.uint8, np.int32, np.int64):
            operands = _values((3, 5), type, 127), _values((5,), type, 127)
            yield case(np.dtype(type).name, op, *operands, opset=18)
    yield case("int32", "BitwiseNot", _values((3, 5), np.int32), opset=18)
    for direction in ("LEFT", "RIGHT"):
        operands = _values((3, 5), np.uint8, 200), np.arange(5, dtype=np.uint8)
        yield case(direction, "BitShift", *operands, direction=direction)
    yield case("int64", "CumSum", _values((3, 9), np.int64), Const(np.array(1)))
    x = RNG.uniform(-20, 20, (5, 7)).astype(np.float32)
    divisors = np.array([[3], [-2.5], [0.75], [100], [-1]], np.float32)
    yield case("float", "Mod", x, divisors, opset=13, fmod=1)
    wrap = np.array([np.inf, 5, -5, 0], np.float32)
    yield case("float-infinite", "Mod", wrap[1:], wrap[:1], opset=13, fmod=1)
