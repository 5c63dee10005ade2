"""MaxPool, AveragePool, GlobalMaxPool, GlobalAveragePool."""

from __future__ import annotations

from typing import Any

from trimtab.importers.onnx_ops.node import Node, Values, handles
from trimtab.importers.onnx_ops.window import Window, image, plane, restore


def _pool(node: Node, op: str, **attributes: Any) -> Values:
    node.only_first_output()
    x = image(node, node.x(0))
    window = Window.of(node, node.integers("kernel_shape"))
    y = node.add(
        op,
        x,
        kernel_shape=window.kernel,
        strides=window.strides,
        pads=window.pads(node, plane(x)),
        dilations=window.dilations,
        # With auto_pad the size is the padding's rule, there is nothing left to round.
        ceil_mode=bool(node.integer("ceil_mode", 0))
        and node.text("auto_pad", "NOTSET") == "NOTSET",
        **attributes,
    )
    return restore(node, y)


@handles("MaxPool")
def max_pool(node: Node) -> Values:
    """x: [n, c, (h,) w]."""
    return _pool(node, "max_pool")


@handles("AveragePool")
def average_pool(node: Node) -> Values:
    """x: [n, c, (h,) w]."""
    return _pool(node, "average_pool", count_include_pad=bool(node.integer("count_include_pad", 0)))


@handles("GlobalMaxPool", "GlobalAveragePool")
def global_pool(node: Node) -> Values:
    """x: [n, c, (h,) w]."""
    op = "global_max_pool" if node.op_type == "GlobalMaxPool" else "global_average_pool"
    return restore(node, node.add(op, image(node, node.x(0))))
