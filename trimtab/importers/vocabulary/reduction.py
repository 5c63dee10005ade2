"""Reductions over dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trimtab.importers._graph import Value
from trimtab.importers._layer import ImportedLayer
from trimtab.importers.vocabulary.activation import square
from trimtab.importers.vocabulary.elementwise import INTEGERS, combine
from trimtab.importers.vocabulary.movement import drop_axes, padded, split

_MAX_PAIRS = 1 << 22
"""Pairs of integers that are compared to order them."""

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
    layer: ImportedLayer,
    x: Value,
    axis: int,
    *,
    keep_dims: bool,
    minimum: bool = False,
    last: bool = False,
) -> Value:
    """The index of the first maximum or minimum, or of the `last` one: of -x for the minimum, and
    of the place of the extreme among integers, which float32 may not hold.
    """
    axis = layer.axis(axis, len(x.shape))
    if x.dtype in INTEGERS:
        x = _is_extreme(layer, x, axis, "min" if minimum else "max")
    elif minimum:
        x = layer.add("neg", x)
    more = {"select_last_index": True} if last else {}
    return layer.add("arg_max", x, axis=axis, keep_dims=keep_dims, **more)


def _is_extreme(layer: ImportedLayer, x: Value, axis: int, kind: str) -> Value:
    """1.0 for the extreme integers along an axis, 0.0 for others."""
    if x.counted:
        raise layer.unsupported("its operands are integers, whose number depends on data")
    extreme = reduced(layer, kind, x, (axis,), keep_dims=True)
    return layer.add("cast", layer.add("compare", x, extreme, relation="equal"), to="f32")


def top_k(
    layer: ImportedLayer, x: Value, k: int, axis: int, *, largest: bool = True
) -> tuple[Value, ...]:
    """The k largest or smallest elements along an axis, best first, and their indices as i64."""
    if x.dtype not in INTEGERS:
        return layer.add_many("top_k", x, outputs=2, k=k, axis=axis, largest=largest)
    if x.dtype in ("i8", "u8"):  # which float32 holds
        order = layer.add("cast", x, to="f32")
    else:
        order, largest = _ranks(layer, x, axis, largest=largest), False
    _, indices = layer.add_many("top_k", order, outputs=2, k=k, axis=axis, largest=largest)
    return layer.add("gather_elements", x, indices, axis=axis), indices


def _ranks(layer: ImportedLayer, x: Value, axis: int, *, largest: bool) -> Value:
    """How many integers along an axis are better than each one, as float32: the same for equal
    ones.
    """
    length = x.shape[axis]
    if x.counted or x.count * length > _MAX_PAIRS:
        raise layer.unsupported(
            f"it orders {length:,} integers, and compares at most {_MAX_PAIRS:,} pairs of a size"
            " that does not depend on data"
        )
    column = layer.reshape(x, (*x.shape[: axis + 1], 1, *x.shape[axis + 1 :]))
    row = layer.reshape(x, (*x.shape[:axis], 1, *x.shape[axis:]))
    better = (column, row) if largest else (row, column)
    pairs = layer.add("cast", layer.add("compare", *better, relation="less"), to="f32")
    return layer.add("reduce_sum", pairs, axes=(axis + 1,), keep_dims=False)


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
