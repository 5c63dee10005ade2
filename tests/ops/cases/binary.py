"""Add, Sub, Mul, Div, Max, Min, Pow with broadcasting on either side."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.ops.cases.case import Case, Const, case, normal

# Each pair runs in both orders.
PAIRS = (
    ((1, 5, 4, 6), (1, 5, 4, 6)),
    ((2, 17, 3, 5), (17, 1, 1)),
    ((2, 17, 3, 5), (1, 17, 1, 1)),
    ((2, 17, 3, 5), (2, 17, 1, 1)),
    ((1, 5, 4, 6), ()),
    ((1, 5, 4, 6), (1,)),
    ((1, 5, 4, 6), (6,)),
    ((1, 5, 4, 6), (4, 1)),
    ((1, 5, 4, 6), (4, 6)),
    ((1, 5, 4, 6), (1, 1, 4, 6)),
    ((2, 5, 4, 6), (2, 1, 1, 1)),
    ((1, 5, 1, 6), (1, 1, 4, 1)),
    ((3, 1, 4), (2, 1)),
    ((7,), (3, 7)),
    ((33,), (33,)),
    ((2, 3, 2, 3, 4), (3, 4)),
)


def _name(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "scalar"


def cases() -> Iterator[Case]:
    """Computed and constant operands; every pair for Add and Div, a few for the others."""
    for op in ("Add", "Div", "Mul", "Sub", "Max", "Min"):
        for i, (left, right) in enumerate(PAIRS):
            if op not in ("Add", "Div") and i % 3 != 0:
                continue
            a, b = normal(*left, seed="a"), normal(*right, seed="b")
            if op == "Div":
                a, b = (np.where(np.abs(v) < 0.2, 0.5, v).astype(np.float32) for v in (a, b))
            yield case(f"{_name(left)}-{_name(right)}", op, a, b)
            if left != right:
                yield case(f"{_name(right)}-{_name(left)}", op, b, a)
            yield case(f"{_name(left)}-constant-{_name(right)}", op, a, Const(b))
            yield case(f"constant-{_name(left)}-{_name(right)}", op, Const(a), b)
        if op not in ("Max", "Min"):
            yield case("opset-7", op, normal(1, 3, 4, 4), normal(3, 1, 1) + 3, opset=7)
    for op in ("Max", "Min"):
        yield case("one-input", op, normal(2, 3))
        yield case("three-inputs", op, normal(1, 3, 4, 4), normal(3, 1, 1), normal(4))
        yield case("opset-8", op, normal(2, 3), normal(2, 3, seed="b"), opset=8)

    base = np.abs(normal(1, 3, 4, 5)) + 0.1
    for exponent in (2.0, 3.0, 0.5, -1.0, 1.7):
        yield case(f"to-{exponent}", "Pow", base, Const(np.array(exponent, np.float32)))
    yield case("negative-base", "Pow", normal(2, 9), Const(np.array(2.0, np.float32)))
    yield case("broadcast", "Pow", base, Const(np.abs(normal(3, 1, 1))))
    yield case("computed", "Pow", base, normal(5))
    yield case("opset-7", "Pow", base, Const(np.array([2.0], np.float32)), opset=7)
    yield case("integer-exponent", "Pow", base, Const(np.array(2, np.int64)), opset=13)
