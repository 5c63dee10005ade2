"""MaxPool, AveragePool, LpPool, and their global forms."""

from __future__ import annotations

import math

from trimtab.importers._graph import Value
from trimtab.importers._layer import Results
from trimtab.importers.onnx_ops import volume
from trimtab.importers.onnx_ops import window as windows
from trimtab.importers.onnx_ops.node import OnnxNode, handles
from trimtab.importers.vocabulary import pooling as pools
from trimtab.importers.vocabulary.activation import square
from trimtab.importers.vocabulary.quantization import through_float32
from trimtab.importers.vocabulary.reduction import reduced
from trimtab.importers.vocabulary.window import from_image, to_image


def windowed(node: OnnxNode, kind: pools.Kind, x: Value, *, counted: bool = False) -> Value:
    """Pools `x` with the window of the node."""
    # auto_pad determines the size, so that ceil_mode has no effect.
    ceil = node.boolean("ceil_mode", False) and node.text("auto_pad", "NOTSET") == "NOTSET"
    if len(x.shape) == 5:
        return volume.pool(node, kind, ceil_mode=ceil, counted=counted)
    spatial = len(x.shape) - 2
    image = to_image(node, x, spatial)
    window = windows.window_of(node, node.integers("kernel_shape"), image.shape[2:])
    y = pools.pool(node, kind, image, window, ceil_mode=ceil, count_include_pad=counted)
    return from_image(node, y, spatial, x)


@handles("MaxPool")
def max_pool(node: OnnxNode) -> Results:
    """x: [n, c, (d,) (h,) w], float32, int8 or uint8; without the indices of the maxima."""
    x = node.x()
    if x.dtype not in ("i8", "u8") or len(x.shape) == 5:
        return windowed(node, "max", x)
    return through_float32(node, x, lambda y: windowed(node, "max", y))


@handles("AveragePool")
def average_pool(node: OnnxNode) -> Results:
    """Mean of each window; x: [n, c, (d,) (h,) w]."""
    return windowed(node, "average", node.x(), counted=node.boolean("count_include_pad", False))


@handles("LpPool")
def lp_pool(node: OnnxNode) -> Results:
    """Lp norm of each window; x: [n, c, (h,) w]."""
    x, kernel = node.x(0), node.integers("kernel_shape")
    if len(x.shape) == 5 or node.integer("ceil_mode", 0):
        raise node.unsupported("it pools volumes or rounds its size up")
    y = windowed(node, "average", _power(node, x), counted=True)
    return _root(node, node.scaled(y, float(math.prod(kernel))))


@handles("GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool")
def global_pool(node: OnnxNode) -> Results:
    """One result per channel; x: [n, c, (h,) w]."""
    if node.type == "GlobalLpPool":
        axes = range(2, len(node.shape()))
        return _root(node, reduced(node, "sum", _power(node, node.x()), axes, keep_dims=True))
    return whole(node, "max" if node.type == "GlobalMaxPool" else "average", node.x())


def whole(node: OnnxNode, kind: pools.Kind, x: Value) -> Value:
    """Pools each channel of `x` to one element."""
    spatial = len(x.shape) - 2
    y = pools.adaptive_pool(node, kind, to_image(node, x, spatial), (1, 1))
    return from_image(node, y, spatial, x)


def _power(node: OnnxNode, x: Value) -> Value:
    """|x| ^ p."""
    order = node.integer("p", 2)
    if order == 2:
        return square(node, x)
    x = node.add("abs", x)
    return x if order == 1 else node.add("pow", x, node.constant(float(order), "p"))


def _root(node: OnnxNode, x: Value) -> Value:
    """The p-th root of x >= 0."""
    order = node.integer("p", 2)
    if order == 2:
        return node.add("sqrt", x)
    return x if order == 1 else node.add("pow", x, node.constant(1 / order, "root"))
