"""MaxPool, AveragePool, LpPool, and those of whole images."""

from __future__ import annotations

import math
from typing import Any

from trimtab.importers.onnx_ops import volume
from trimtab.importers.onnx_ops.node import Node, Value, Values, handles
from trimtab.importers.onnx_ops.window import Window, image, plane, restore


def _pool(node: Node, op: str, x: Value, **attributes: Any) -> Value:
    # With auto_pad the size is the padding's rule, there is nothing left to round.
    rounds_up = node.integer("ceil_mode", 0) and node.text("auto_pad", "NOTSET") == "NOTSET"
    attributes["ceil_mode"] = bool(rounds_up)
    if len(x.shape) == 5:
        return volume.pool(node, op, **attributes)
    x = image(node, x)
    window = Window.of(node, node.integers("kernel_shape"))
    y = node.add(
        op,
        x,
        kernel_shape=window.kernel,
        strides=window.strides,
        pads=window.pads(node, plane(x)),
        dilations=window.dilations,
        **attributes,
    )
    return restore(node, y)


@handles("MaxPool")
def max_pool(node: Node) -> Values:
    """x: [n, c, (d,) (h,) w]; without the indices of the maxima."""
    node.only_first_output()
    return _pool(node, "max_pool", node.x(0))


@handles("AveragePool")
def average_pool(node: Node) -> Values:
    """x: [n, c, (d,) (h,) w]."""
    counts = bool(node.integer("count_include_pad", 0))
    return _pool(node, "average_pool", node.x(0), count_include_pad=counts)


@handles("LpPool")
def lp_pool(node: Node) -> Values:
    """x: [n, c, (h,) w]; the root of a mean of powers, times the size of the window."""
    x, kernel = node.x(0), node.integers("kernel_shape")
    if len(x.shape) == 5 or node.integer("ceil_mode", 0):
        raise node.unsupported("it pools volumes or rounds its size up")
    powers = _power(node, x)
    y = _pool(node, "average_pool", powers, count_include_pad=True)
    return _root(node, node.add("mul", y, node.scalar(math.prod(kernel), "pixels")))


@handles("GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool")
def global_pool(node: Node) -> Values:
    """x: [n, c, (h,) w]."""
    if node.op_type == "GlobalLpPool":
        axes = tuple(range(2, len(node.x(0).shape)))
        powers = _power(node, node.x(0))
        return _root(node, node.add("reduce_sum", powers, axes=axes, keep_dims=True))
    op = "global_max_pool" if node.op_type == "GlobalMaxPool" else "global_average_pool"
    return restore(node, node.add(op, image(node, node.x(0))))


def _power(node: Node, x: Value) -> Value:
    """|x| to the power of p."""
    order = node.integer("p", 2)
    if order == 2:
        return node.add("mul", x, x)
    x = node.add("abs", x)
    return x if order == 1 else node.add("pow", x, node.scalar(order, "p"))


def _root(node: Node, x: Value) -> Value:
    """The p-th root of what is not negative."""
    order = node.integer("p", 2)
    if order == 2:
        return node.add("sqrt", x)
    return x if order == 1 else node.add("pow", x, node.scalar(1 / order, "root"))
