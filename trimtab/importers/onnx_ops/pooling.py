"""MaxPool, AveragePool, LpPool, and those of whole images."""

from __future__ import annotations

import math

from trimtab.importers._graph import Value
from trimtab.importers._layer import Results
from trimtab.importers.onnx_ops import volume
from trimtab.importers.onnx_ops import window as windows
from trimtab.importers.onnx_ops.node import OnnxNode, handles
from trimtab.importers.vocabulary import pooling as pools
from trimtab.importers.vocabulary.activation import square
from trimtab.importers.vocabulary.quantization import through_reals
from trimtab.importers.vocabulary.reduction import reduced
from trimtab.importers.vocabulary.window import image, restore


def windowed(node: OnnxNode, kind: pools.Kind, x: Value, *, counted: bool = False) -> Value:
    """`x` pooled by the window that the node has."""
    # With auto_pad the size is the padding's rule, there is nothing left to round.
    ceil = node.boolean("ceil_mode", False) and node.text("auto_pad", "NOTSET") == "NOTSET"
    if len(x.shape) == 5:
        return volume.pool(node, kind, ceil_mode=ceil, counted=counted)
    spatial = len(x.shape) - 2
    given, x = x, image(node, x, spatial)
    window = windows.of(node, node.integers("kernel_shape"), x.shape[2:])
    y = pools.pool(node, kind, x, window, ceil_mode=ceil, count_include_pad=counted)
    return restore(node, y, spatial, given)


@handles("MaxPool")
def max_pool(node: OnnxNode) -> Results:
    """x: [n, c, (d,) (h,) w], reals or 8-bit integers; without the indices of the maxima."""
    x = node.x()
    if x.dtype not in ("i8", "u8") or len(x.shape) == 5:
        return windowed(node, "max", x)
    return through_reals(node, x, lambda real: windowed(node, "max", real))


@handles("AveragePool")
def average_pool(node: OnnxNode) -> Results:
    """x: [n, c, (d,) (h,) w]."""
    return windowed(node, "average", node.x(), counted=node.boolean("count_include_pad", False))


@handles("LpPool")
def lp_pool(node: OnnxNode) -> Results:
    """x: [n, c, (h,) w]; the root of a mean of powers, times the size of the window."""
    x, kernel = node.x(0), node.integers("kernel_shape")
    if len(x.shape) == 5 or node.integer("ceil_mode", 0):
        raise node.unsupported("it pools volumes or rounds its size up")
    y = windowed(node, "average", _power(node, x), counted=True)
    return _root(node, node.scaled(y, float(math.prod(kernel))))


@handles("GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool")
def global_pool(node: OnnxNode) -> Results:
    """x: [n, c, (h,) w]."""
    if node.type == "GlobalLpPool":
        axes = range(2, len(node.shape()))
        return _root(node, reduced(node, "sum", _power(node, node.x()), axes, keep_dims=True))
    return whole(node, "max" if node.type == "GlobalMaxPool" else "average", node.x())


def whole(node: OnnxNode, kind: pools.Kind, x: Value) -> Value:
    """One result of each channel of `x`."""
    spatial = len(x.shape) - 2
    y = pools.adaptive_pool(node, kind, image(node, x, spatial), (1, 1))
    return restore(node, y, spatial, x)


def _power(node: OnnxNode, x: Value) -> Value:
    """|x| to the power of p."""
    order = node.integer("p", 2)
    if order == 2:
        return square(node, x)
    x = node.add("abs", x)
    return x if order == 1 else node.add("pow", x, node.constant(float(order), "p"))


def _root(node: OnnxNode, x: Value) -> Value:
    """The p-th root of what is not negative."""
    order = node.integer("p", 2)
    if order == 2:
        return node.add("sqrt", x)
    return x if order == 1 else node.add("pow", x, node.constant(1 / order, "root"))
