"""Operators that the importer composes from several engine operators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.ops.cases.case import Case, Const, case, floats, ints, normal


def _elementwise() -> Iterator[Case]:
    x = normal(2, 3, 4, 5) * 3
    for op in ("Selu", "Celu", "Reciprocal"):
        yield case("default", op, x)
        yield case("vector", op, normal(7))
    yield case("alpha", "Selu", x, alpha=2.0, gamma=0.5)
    yield case("alpha", "Celu", x, alpha=0.5)
    yield case("soft", "Shrink", x, lambd=0.7, bias=0.7)
    yield case("three", "Mean", x, normal(5), normal(3, 1, 1))
    yield case("one", "Mean", x)
    yield case("float", "CastLike", x, floats(0), opset=19)
    yield case("integer", "CastLike", x, ints(0), opset=19)


def _reductions() -> Iterator[Case]:
    x = normal(2, 5, 4, 7)
    for op in ("ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"):
        data = np.abs(x) + 0.1 if op == "ReduceLogSum" else x
        for axes in ([1], [2, 3], [-1], [0, 1, 2, 3]):
            id = "axes" + "_".join(map(str, axes))
            yield case(id, op, data, axes=axes)
            yield case(f"{id}-drop", op, data, axes=axes, keepdims=0)
        yield case("all", op, data)
        yield case("input", op, data, ints(-2), opset=18)
    yield case("large", "ReduceLogSumExp", x * 100, axes=[1])
    for axis in (0, 1, -1):
        for p in (1, 2):
            yield case(f"axis{axis}-p{p}", "LpNormalization", x, axis=axis, p=p)
    for axis in (0, 1, 2, 3, -2):
        yield case(f"axis{axis}", "Hardmax", np.round(x), axis=axis)
    yield case("opset-11", "Hardmax", x, opset=11, axis=2)


def _pools() -> Iterator[Case]:
    x = normal(2, 3, 9, 11)
    for p in (1, 2, 3):
        yield case(f"p{p}", "LpPool", x, p=p, kernel_shape=[3, 2], strides=[2, 1])
        yield case(f"p{p}", "GlobalLpPool", x, p=p)
    yield case("pads", "LpPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    yield case("signal", "LpPool", normal(1, 4, 19), kernel_shape=[3], strides=[2])


def _volumes() -> Iterator[Case]:
    x = normal(2, 4, 5, 7, 6)
    forms: dict[str, dict[str, Any]] = {
        "plain": {},
        "strides": {"strides": [2, 1, 2]},
        "pads": {"pads": [1, 0, 1, 0, 1, 1]},
        "dilations": {"dilations": [2, 1, 2]},
        "same": {"auto_pad": "SAME_UPPER", "strides": [2, 2, 2]},
        "same-lower": {"auto_pad": "SAME_LOWER"},
        "valid": {"auto_pad": "VALID"},
    }
    for id, form in forms.items():
        for group in (1, 2, 4):
            weights = normal(8, 4 // group, 2, 3, 2), normal(8)
            transposed = normal(4, 3, 2, 3, 2), normal(3 * group)
            for op, operands in (("Conv", weights), ("ConvTranspose", transposed)):
                name = f"volume-{id}-group{group}"
                yield case(name, op, x, *map(Const, operands), group=group, **form)
                yield case(f"{name}-computed", op, x, *operands, group=group, **form)
        yield case(f"volume-{id}", "MaxPool", x, kernel_shape=[2, 3, 2], **form)
        if id != "dilations":
            for counts in (0, 1):
                yield case(
                    f"volume-{id}-{counts}",
                    *("AveragePool", x),
                    kernel_shape=[2, 3, 2],
                    count_include_pad=counts,
                    **form,
                )
    more: dict[str, dict[str, Any]] = {
        "padded": {"output_padding": [1, 0, 2], "strides": [3, 1, 3]},
        "shape": {"output_shape": [11, 9, 13], "strides": [2, 1, 2]},
        "cropped": {"pads": [2, 1, 0, 2, 0, 3], "strides": [1, 2, 2]},
    }
    for id, form in more.items():
        weights = normal(4, 3, 3, 3, 2), normal(6)
        yield case(f"volume-{id}", "ConvTranspose", x, *map(Const, weights), group=2, **form)
    deep = Const(normal(3, 4, 5, 1, 1))
    yield case("volume-whole-depth", "Conv", x, deep)
    yield case("volume-ceil", "MaxPool", x, kernel_shape=[2, 2, 2], strides=[2, 2, 4], ceil_mode=1)


def cases() -> Iterator[Case]:
    """Every attribute and every rank that the importer supports."""
    yield from _elementwise()
    yield from _reductions()
    yield from _pools()
    yield from _volumes()
