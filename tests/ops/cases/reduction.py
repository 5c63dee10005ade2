"""Softmax, LogSoftmax, reductions, ArgMax."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.ops.cases.case import Case, case, ints, normal


def _softmax() -> Iterator[Case]:
    for op in ("Softmax", "LogSoftmax"):
        for axis in (0, 1, 2, 3, -1, -3):
            yield case(f"axis{axis}", op, normal(2, 5, 4, 7) * 4, axis=axis)
        yield case("default", op, normal(3, 33))
        yield case("large", op, normal(1, 1000) * 100)
        yield case("one", op, normal(1, 1, 1, 1))
        # Before opset 13 the dimensions from the axis on are one row.
        for axis in (0, 1, 2, -1):
            yield case(f"opset-11-axis{axis}", op, normal(2, 3, 4, 5), opset=11, axis=axis)
        yield case("opset-7-default", op, normal(2, 3, 4, 5), opset=7)


def _reduce() -> Iterator[Case]:
    x = normal(2, 5, 4, 7)
    for op in ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin"):
        # Axes became an input in opset 13 for ReduceSum and in 18 for the others.
        last = 12 if op == "ReduceSum" else 17
        for axes in ([2, 3], [1], [-1], [0, 2], [-2, -1], [0, 1, 2, 3], [3, 1]):
            id = "axes" + "_".join(map(str, axes))
            for keep in (0, 1):
                end = id if keep else f"{id}-drop"
                yield case(end, op, x, opset=last, axes=axes, keepdims=keep)
            yield case(f"{id}-input", op, x, ints(*axes), opset=18)
        yield case("all", op, x, opset=last)
        yield case("all-drop", op, x, opset=last, keepdims=0)
        yield case("all-input-missing", op, x, opset=18, keepdims=0)
        yield case("noop", op, x, ints(), opset=18, noop_with_empty_axes=1)
        yield case("one-channel", op, normal(1, 1, 9, 9), opset=last, axes=[2, 3])
        yield case("2d", op, normal(9, 33), opset=last, axes=[1], keepdims=0)
        yield case("opset-7", op, x, opset=7, axes=[1, 2])


def _arg_max() -> Iterator[Case]:
    x = normal(2, 5, 4, 7)
    ties = np.round(x)
    for axis in (0, 1, 2, 3, -1, -2):
        yield case(f"axis{axis}", "ArgMax", x, axis=axis)
        yield case(f"axis{axis}-ties-drop", "ArgMax", ties, axis=axis, keepdims=0)
        yield case(f"axis{axis}-ties-last", "ArgMax", ties, axis=axis, select_last_index=1)
    yield case("opset-7", "ArgMax", x, opset=7)
    for length in (5, 16, 83):  # short rows, one block of maxima, several and a rest
        rows = np.round(normal(6, length) * 2)
        rows[0, :] = -np.inf
        for last in (0, 1):
            yield case(f"row{length}-{last}", "ArgMax", rows, select_last_index=last, axis=1)
    for dtype in (np.int32, np.int64, np.int8, np.uint8):  # more than float32 holds
        ends = np.iinfo(dtype)
        integers = np.linspace(ends.min, ends.max // 2, 60, dtype=dtype).reshape(3, 5, 4)
        integers[:, 1:3] = integers.max() - 1
        integers[0, 3, 2] += 1
        name = np.dtype(dtype).name
        for op in ("ArgMax", "ArgMin"):
            yield case(name, op, integers, axis=1)
            yield case(f"{name}-last", op, integers, axis=1, select_last_index=1)


def cases() -> Iterator[Case]:
    """All axes from both ends, kept and dropped, as attribute and as input."""
    yield from _softmax()
    yield from _reduce()
    yield from _arg_max()
