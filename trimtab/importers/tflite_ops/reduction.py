"""Reductions, soft maxima, normalisations."""

from __future__ import annotations

from trimtab.importers.tflite_ops.node import Image, Node, Results, form, handles

_REDUCE = {
    "MEAN": "reduce_mean",
    "SUM": "reduce_sum",
    "REDUCE_MAX": "reduce_max",
    "REDUCE_MIN": "reduce_min",
}


@handles(*_REDUCE)
def reduce(node: Node) -> Results:
    """Over constant axes; what is left of an image after both its sides are gone is in order."""
    rank = len(node.shape())
    keep = bool(node.options("ReducerOptions").KeepDims())
    axes = {node.axis(a, rank) for a in node.ints(1, "axes")}
    image = node.is_image() and (keep or {1, 2} <= axes)
    x = node.image() if image else node.x()
    if not axes:
        return form(x, image)
    places = tuple(sorted(node.place(a, rank, image) for a in axes))
    y = node.add(_REDUCE[node.type], x, axes=places, keep_dims=keep)
    return form(y, image and keep)


@handles("SOFTMAX", "LOG_SOFTMAX")
def softmax(node: Node) -> Results:
    """Along the last dimension."""
    x, image = node.either()
    op = "softmax"
    if node.type == "LOG_SOFTMAX":
        op = "log_softmax"
    else:
        x = node.scale_and_shift(x, node.options("SoftmaxOptions").Beta(), 0.0)
    return form(node.add(op, x, axis=1 if image else len(x.shape) - 1), image)


@handles("ARG_MAX", "ARG_MIN")
def arg_max(node: Node) -> Results:
    """The least element is the largest of the negated ones."""
    x = node.x()
    (axis,) = node.ints(1, "axis")
    if node.type == "ARG_MIN":
        x = node.add("neg", x)
    y = node.add("arg_max", x, axis=node.axis(axis, len(x.shape)), keep_dims=False)
    return node.add("cast", y, to="i32") if node.output_type() == 2 else y


@handles("LOCAL_RESPONSE_NORMALIZATION")
def local_response_normalization(node: Node) -> Results:
    """Unlike the engine's, alpha is not divided by the size."""
    options = node.options("LocalResponseNormalizationOptions")
    size = 2 * options.Radius() + 1
    y = node.add(
        "lrn",
        node.image(),
        size=size,
        alpha=options.Alpha() * size,
        beta=options.Beta(),
        bias=options.Bias(),
    )
    return Image(y)


@handles("L2_NORMALIZATION")
def l2_normalization(node: Node) -> Results:
    """Along the last dimension."""
    x, image = node.either()
    axis = 1 if image else len(x.shape) - 1
    squares = node.add("reduce_sum", node.add("mul", x, x), axes=(axis,), keep_dims=True)
    length = node.add("sqrt", node.add("max", squares, node.constant(1e-6, "least")))
    y = node.add("div", x, length)
    function = node.options("L2NormOptions").FusedActivationFunction()
    return form(node.activated(y, function), image)
