"""Reductions over dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trimtab.importers._graph import Value
from trimtab.importers._layer import ImportedLayer
from trimtab.importers.vocabulary.activation import square
from trimtab.importers.vocabulary.elementwise import INTEGERS, combine
from trimtab.importers.vocabulary.movement import drop_axes, padded, split

UnaryFunction = Callable[[ImportedLayer, Value], Value]


def _operator(op: str) -> UnaryFunction:
    return lambda layer, x: layer.add(op, x)


def _identity(_: ImportedLayer, x: Value) -> Value:
    return x


# Sums with a function before and after the sum.
_SUMS: dict[str, tuple[UnaryFunction, UnaryFunction]] = {
    "l1": (_operator("abs"), _identity),
    "l2": (square, _operator("sqrt")),
    "sum_square": (square, _identity),
    "log_sum": (_identity, _operator("log")),
}

_HALVED = {"max": "max", "min": "min", "sum": "add"}

KINDS = ("mean", "sum", "max", "min", *_SUMS, "log_sum_exp")


def reduced(
    layer: ImportedLayer, kind: str, x: Value, axes: Sequence[int], *, keep_dims: bool
) -> Value:
    """Reduces `x` over some axes, by one of `KINDS`; without axes each element by itself.

    The result over all axes is a scalar; see `at_least_a_vector` for formats without scalars.
    """
    axes = tuple(sorted({layer.axis(axis, len(x.shape)) for axis in axes}))
    if x.dtype in (*INTEGERS, "bool") and kind in _HALVED:
        return halved(layer, _HALVED[kind], x, axes, keep_dims=keep_dims)
    if kind == "log_sum_exp":
        return _log_sum_exp(layer, x, axes, keep_dims) if axes else x
    if kind not in _SUMS:
        return layer.add(f"reduce_{kind}", x, axes=axes, keep_dims=keep_dims) if axes else x
    before, after = _SUMS[kind]
    return after(layer, reduced(layer, "sum", before(layer, x), axes, keep_dims=keep_dims))


def _log_sum_exp(layer: ImportedLayer, x: Value, axes: tuple[int, ...], keep_dims: bool) -> Value:
    """Relative to the maximum, so that no exponential overflows."""
    largest = layer.add("reduce_max", x, axes=axes)
    exponentials = layer.add("exp", layer.add("sub", x, largest))
    y = layer.add("log", layer.add("reduce_sum", exponentials, axes=axes))
    y = layer.add("add", y, largest)
    return y if keep_dims else layer.reshape(y, drop_axes(y.shape, axes))


def at_least_a_vector(layer: ImportedLayer, x: Value) -> Value:
    """`x`; a scalar becomes a vector of one element."""
    return x if x.shape else layer.reshape(x, (1,))


def arg_max(
    layer: ImportedLayer, x: Value, axis: int, *, keep_dims: bool, minimum: bool = False
) -> Value:
    """The index of the maximum, or of the minimum as the maximum of -x."""
    x = layer.add("neg", x) if minimum else x
    return layer.add("arg_max", x, axis=layer.axis(axis, len(x.shape)), keep_dims=keep_dims)


def cumulative(
    layer: ImportedLayer,
    op: str,
    x: Value,
    axis: int,
    *,
    reverse: bool = False,
    exclusive: bool = False,
) -> Value:
    """Sums (`op` is add) or products (mul) along an axis up to each element, or from it on, in
    log2(length) operations on the whole tensor.
    """
    neutral = 1.0 if op == "mul" else 0.0

    def moved(y: Value, by: int) -> Value:
        amounts = {axis: (-by, by) if reverse else (by, -by)}
        return padded(layer, y, amounts, value=neutral)

    distance, y = 1, x
    while distance < x.shape[axis]:
        y = combine(layer, op, y, moved(y, distance))
        distance *= 2
    return moved(y, 1) if exclusive else y


def halved(
    layer: ImportedLayer, op: str, x: Value, axes: Sequence[int], *, keep_dims: bool
) -> Value:
    """Combines the halves of each axis by a binary operator until one element remains, for products
    and for integers.
    """
    for axis in axes:
        if not layer.is_fixed(x, axis) or not x.shape[axis]:
            raise layer.unsupported("it combines elements along a size that is 0 or may be 0")
        while (size := x.shape[axis]) > 1:
            first, second, *rest = split(layer, x, axis, [size // 2] * 2 + [1] * (size % 2))
            x = combine(layer, op, first, second)
            if rest:
                x = layer.add("concat", x, *rest, axis=axis)
    return x if keep_dims else layer.reshape(x, drop_axes(x.shape, axes))
