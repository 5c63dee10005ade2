"""Comparisons, logic, Where, TopK, GatherElements."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.ops.cases.case import Array, Case, Const, case, ints, normal

SHAPES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "same": ((2, 3, 4, 5), (2, 3, 4, 5)),
    "row": ((2, 3, 4, 5), (5,)),
    "column": ((2, 3, 4, 5), (4, 1)),
    "both": ((3, 1, 5), (2, 1, 4, 1)),
    "scalar": ((3, 7), ()),
    "long": ((3, 150), (3, 1)),
    "scalars": ((), ()),
}


def flags(*shape: int) -> Array:
    return np.asarray(normal(*shape, seed="flags") > 0)


def whole(*shape: int, seed: str = "") -> Array:
    return np.asarray(np.round(normal(*shape, seed=seed)))


def _compare() -> Iterator[Case]:
    for op in ("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"):
        for id, (a, b) in SHAPES.items():
            yield case(id, op, whole(*a), whole(*b, seed="b"))
        for dtype in (np.int32, np.int64):
            integers = [(normal(4, 6, seed=s) * 3).astype(dtype) for s in "ab"]
            yield case(np.dtype(dtype).name, op, *integers)
        special = np.array([np.nan, np.inf, -np.inf, 0, -0.0], np.float32)
        yield case("special", op, special.reshape(5, 1), special)
    yield case("bool", "Equal", flags(3, 4), flags(4))


def _logic() -> Iterator[Case]:
    for op in ("And", "Or", "Xor"):
        yield case("same", op, flags(3, 4), flags(3, 4).T.reshape(3, 4))
        yield case("broadcast", op, flags(2, 3, 1), flags(4))
    yield case("some", "Not", flags(3, 5))
    special = np.array([np.nan, np.inf, -np.inf, 0, 1e30], np.float32)
    yield case("special", "IsNaN", special)
    for positive in (0, 1):
        for negative in (0, 1):
            yield case(
                f"{positive}{negative}",
                *("IsInf", special),
                detect_positive=positive,
                detect_negative=negative,
            )


def _choice() -> Iterator[Case]:
    x, y = normal(2, 3, 4, 5), normal(2, 3, 4, 5, seed="y")
    for dtype in (np.float32, np.int32, np.int64, np.uint8):
        a, b = (np.abs(v * 9).astype(dtype) for v in (x, y))
        yield case(np.dtype(dtype).name, "Where", flags(2, 3, 4, 5), a, b)
    yield case("rows", "Where", flags(4, 1), x, normal(5))
    yield case("long", "Where", flags(3, 150), normal(150), normal(3, 1))
    yield case(
        "constants",
        "Where",
        flags(3, 4),
        Const(np.array(1, np.float32)),
        Const(np.array(-1, np.float32)),
    )
    yield case("wide", "Where", flags(2, 1, 1), normal(3, 1), normal(1, 4))
    special = np.array([np.nan, np.inf, -np.inf, 0, 2], np.float32)
    yield case("special", "Sign", special[1:])
    yield case("image", "Sign", x)
    for name in ("int8", "int32", "int64"):
        signed = np.array([np.iinfo(name).max, 5, 0, -3, -100], name)
        for op in ("Sign", "Abs", "Neg"):
            yield case(name, op, signed)
    yield case("uint8", "Sign", np.array([0, 1, 200], np.uint8))
    yield case("image", "ThresholdedRelu", x, alpha=0.3)
    yield case("hard", "Shrink", x, lambd=0.6)
    yield case("biased", "Shrink", x, lambd=0.6, bias=0.2)
    for upper in (0, 1):
        for k in (-1, 0, 2):
            yield case(f"{upper}{k}", "Trilu", x, Const(np.array(k)), upper=upper)
    for op in ("Max", "Min"):
        integers = [(normal(4, 6, seed=s) * 9).astype(np.int64) for s in "abc"]
        yield case("integers", op, *integers)


def _top_k() -> Iterator[Case]:
    x = normal(2, 5, 4, 37)
    for k in (1, 3, 37):
        yield case(f"last-{k}", "TopK", x, ints(k), outputs=2)
        yield case(f"last-{k}-least", "TopK", x, ints(k), outputs=2, largest=0)
    for axis in (0, 1, 2, -3):
        yield case(f"axis{axis}", "TopK", x, ints(2), outputs=2, axis=axis)
    yield case("ties", "TopK", np.round(x), ints(9), outputs=2)
    yield case("ties-least", "TopK", np.round(x), ints(9), outputs=2, largest=0)
    yield case("long", "TopK", normal(1, 8400), ints(300), outputs=2)
    yield case("opset-9", "TopK", x, opset=9, outputs=2, k=4)
    for dtype in (np.int32, np.int64):  # more than float32 holds, and equal ones
        integers = np.arange(60).astype(dtype).reshape(3, 20) * 7 % 11 + np.iinfo(dtype).max // 2
        for largest in (0, 1):
            values = {"outputs": 2, "largest": largest}
            yield case(f"{np.dtype(dtype).name}-{largest}", "TopK", integers, ints(7), **values)


def _gather_elements() -> Iterator[Case]:
    x = normal(3, 4, 5)
    for axis in (0, 1, 2, -1):
        size = x.shape[axis]
        for shape in (x.shape, (2, 3, 2)):
            at = np.arange(np.prod(shape)).reshape(shape) * 7 % (2 * size) - size
            yield case(f"axis{axis}-{shape[0]}", "GatherElements", x, at, axis=axis)
    at = np.array([[0, 2], [1, 0]], np.int32)
    yield case("constant", "GatherElements", normal(2, 3), Const(at), axis=1)
    yield case("integers", "GatherElements", np.arange(6).reshape(2, 3), at, axis=1)


def cases() -> Iterator[Case]:
    """All relations and dtypes, broadcasting, special values, every axis."""
    yield from _compare()
    yield from _logic()
    yield from _choice()
    yield from _top_k()
    yield from _gather_elements()
