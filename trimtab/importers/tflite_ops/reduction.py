"""Reductions, softmax, argmax, normalizations."""

from __future__ import annotations

from trimtab.importers.tflite_ops.forms import NchwImage, Results, form
from trimtab.importers.tflite_ops.node import TfliteNode, handles
from trimtab.importers.vocabulary import reduction
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
