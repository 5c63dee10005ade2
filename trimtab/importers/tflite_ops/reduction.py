"""Reductions, softmax, argmax, normalizations."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from trimtab.importers._graph import Value
from trimtab.importers.tflite_ops.forms import NchwImage, Results, form
from trimtab.importers.tflite_ops.node import TfliteNode, handles
from trimtab.importers.vocabulary import reduction
from trimtab.importers.vocabulary.elementwise import combine
from trimtab.importers.vocabulary.movement import sliced
from trimtab.importers.vocabulary.normalization import l2_norm, lrn

_REDUCE = {"MEAN": "mean", "SUM": "sum", "REDUCE_MAX": "max", "REDUCE_MIN": "min"}


@handles(*_REDUCE)
def reduce(node: TfliteNode) -> Results:
    """Reduction over constant axes."""
    rank = len(node.shape())
    keep = bool(node.options("ReducerOptions").KeepDims())
    axes = {node.axis(a, rank) for a in node.ints(1, "axes")}
    # Without height and width, both forms have the same order of axes.
    image = node.is_image() and (keep or {1, 2} <= axes)
    x = node.image() if image else node.x()
    form_axes = tuple(node.place(a, rank, image) for a in axes)
    y = reduction.reduced(node, _REDUCE[node.type], x, form_axes, keep_dims=bool(keep))
    return form(y, image and (keep or not axes))


@handles("REDUCE_PROD")
def reduce_product(node: TfliteNode) -> Results:
    """The product over constant axes."""
    axes = [node.axis(axis) for axis in node.ints(1, "axes")]
    keep = bool(node.options("ReducerOptions").KeepDims())
    return reduction.halved(node, "mul", node.x(), axes, keep_dims=keep)


def _combining(op: str) -> Callable[[TfliteNode, Value, Value], Value]:
    return lambda node, a, b: combine(node, op, a, b)


# ReduceWindowFunction.
_WINDOWS: Mapping[int, Callable[[TfliteNode, Value, Value], Value]] = {
    1: _combining("add"),
    2: _combining("mul"),
    3: _combining("min"),
    4: _combining("max"),
    5: lambda node, a, b: node.add("where", a, b, a),
    6: lambda node, a, b: node.add("where", a, a, b),
}


@handles("REDUCE_WINDOW")
def reduce_window(node: TfliteNode) -> Results:
    """Sums, products, extremes or logic of windows without padding, and of one more value, tap by
    tap along one axis after the other.
    """
    function = _WINDOWS.get(node.options("ReduceWindowOptions").ReduceFunction())
    if function is None or any(node.quantization(i) for i in (0, 1)):
        raise node.unsupported("its function is not known, or its operands are quantized")
    x = node.x()
    forms = (node.ints(i, "window") for i in (2, 3, 4))
    for axis, (size, stride, distance) in enumerate(zip(*forms, strict=True)):
        if min(size, stride, distance) < 1 or (size - 1) * distance >= x.shape[axis]:
            raise node.invalid(f"its window does not fit {list(x.shape)}")
        last = x.shape[axis] - (size - 1) * distance
        taps = [
            node.value(sliced(node, x, [(axis, begin, begin + last, stride)]))
            for begin in range(0, size * distance, distance)
        ]
        x = taps[0]
        for tap in taps[1:]:
            x = function(node, x, tap)
    first = node.numbers(1, "first value")
    return function(node, x, node.value(np.asarray(first).reshape(())))


@handles("SOFTMAX", "LOG_SOFTMAX")
def softmax(node: TfliteNode) -> Results:
    """Softmax or its logarithm along the last axis."""
    x, image = node.either()
    op = "softmax"
    if node.type == "LOG_SOFTMAX":
        op = "log_softmax"
    else:
        x = node.scaled(x, node.options("SoftmaxOptions").Beta())
    return form(node.add(op, x, axis=1 if image else len(x.shape) - 1), image)


@handles("ARG_MAX", "ARG_MIN")
def arg_max(node: TfliteNode) -> Results:
    """The index of the maximum, or of the minimum as the maximum of -x."""
    (axis,) = node.ints(1, "axis")
    minimum = node.type == "ARG_MIN"
    y = reduction.arg_max(node, node.x(), axis, keep_dims=False, minimum=minimum)
    return node.add("cast", y, to="i32") if node.output_type() == 2 else y


@handles("LOCAL_RESPONSE_NORMALIZATION")
def local_response_normalization(node: TfliteNode) -> Results:
    """Local response normalization; unlike the engine, TFLite does not divide alpha by the size."""
    options = node.options("LocalResponseNormalizationOptions")
    size = 2 * options.Radius() + 1
    numbers = options.Alpha() * size, options.Beta(), options.Bias()
    return NchwImage(lrn(node, node.image(), size, *numbers))


@handles("L2_NORMALIZATION")
def l2_normalization(node: TfliteNode) -> Results:
    """L2 normalization along the last axis."""
    x, image = node.either()
    y = l2_norm(node, x, (1 if image else len(x.shape) - 1,), min_square=1e-6)
    function = node.options("L2NormOptions").FusedActivationFunction()
    return form(node.activated(y, function), image)
