"""Reductions over dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trimtab.importers._graph import Value
from trimtab.importers._layer import ImportedLayer
from trimtab.importers.vocabulary.activation import square
from trimtab.importers.vocabulary.movement import without

Function = Callable[[ImportedLayer, Value], Value]


def _plain(op: str) -> Function:
    return lambda layer, x: layer.add(op, x)


def _same(_: ImportedLayer, x: Value) -> Value:
    return x


# What is summed, and what is made of the sum.
_SUMS: dict[str, tuple[Function, Function]] = {
    "l1": (_plain("abs"), _same),
    "l2": (square, _plain("sqrt")),
    "sum_square": (square, _same),
    "log_sum": (_same, _plain("log")),
}

KINDS = ("mean", "sum", "max", "min", *_SUMS, "log_sum_exp")


def reduced(
    layer: ImportedLayer, kind: str, x: Value, axes: Sequence[int], *, keep_dims: bool
) -> Value:
    """One of `KINDS` over some dimensions, which become 1 or disappear; over none, of each number.

    A file's vector of one for all dimensions has no dimension here: see `at_least_a_vector`.
    """
    axes = tuple(sorted({layer.axis(axis, len(x.shape)) for axis in axes}))
    if kind == "log_sum_exp":
        return _log_sum_exp(layer, x, axes, keep_dims) if axes else x
    if kind not in _SUMS:
        return layer.add(f"reduce_{kind}", x, axes=axes, keep_dims=keep_dims) if axes else x
    before, after = _SUMS[kind]
    return after(layer, reduced(layer, "sum", before(layer, x), axes, keep_dims=keep_dims))


def _log_sum_exp(layer: ImportedLayer, x: Value, axes: tuple[int, ...], keep_dims: bool) -> Value:
    """About the largest element: no exponential overflows."""
    largest = layer.add("reduce_max", x, axes=axes)
    exponentials = layer.add("exp", layer.add("sub", x, largest))
    y = layer.add("log", layer.add("reduce_sum", exponentials, axes=axes))
    y = layer.add("add", y, largest)
    return y if keep_dims else layer.reshape(y, without(y.shape, axes))


def at_least_a_vector(layer: ImportedLayer, x: Value) -> Value:
    """`x`, or [x] for one without dimensions."""
    return x if x.shape else layer.reshape(x, (1,))


def arg_max(
    layer: ImportedLayer, x: Value, axis: int, *, keep_dims: bool, least: bool = False
) -> Value:
    """Where the largest element is; the least one is the largest of the negated ones."""
    x = layer.add("neg", x) if least else x
    return layer.add("arg_max", x, axis=layer.axis(axis, len(x.shape)), keep_dims=keep_dims)
