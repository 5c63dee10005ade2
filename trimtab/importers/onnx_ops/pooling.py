"""MaxPool, AveragePool, LpPool, and their global forms."""

from __future__ import annotations

import math

import numpy as np

from trimtab.importers._graph import Value
from trimtab.importers._layer import Results
from trimtab.importers.onnx_ops import volume
from trimtab.importers.onnx_ops import window as windows
from trimtab.importers.onnx_ops.node import OnnxNode, handles
from trimtab.importers.vocabulary import movement, scatter
from trimtab.importers.vocabulary import pooling as pools
from trimtab.importers.vocabulary.activation import square
from trimtab.importers.vocabulary.elementwise import combine
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
    """x: [n, c, (d,) (h,) w], float32, int8 or uint8; indices of the maxima of float32 images."""
    x = node.x()
    if node.uses_output(1):
        y = windowed(node, "max", x)
        return y, _maximum_indices(node, x, y)
    if x.dtype not in ("i8", "u8") or len(x.shape) == 5:
        return windowed(node, "max", x)
    return through_float32(node, x, lambda y: windowed(node, "max", y))


def _maximum_indices(node: OnnxNode, x: Value, y: Value) -> Value:
    """The place of each maximum in the flattened input, int64: that of its tap in the window."""
    if x.dtype != "f32" or len(x.shape) not in (3, 4):
        raise node.unsupported("the indices of its maxima are read, and its input is not an image")
    image = to_image(node, x, len(x.shape) - 2)
    window = windows.window_of(node, node.integers("kernel_shape"), image.shape[2:])
    n, c, h, w = image.shape
    sizes = (1, *y.shape[2:])[-2:]
    best = pools.maximum_taps(node, image, window, sizes)
    taps = np.ndindex(*window.kernel)
    steps = (1, h) if node.integer("storage_order", 0) else (w, 1)
    offsets = [sum(tap[i] * window.dilations[i] * steps[i] for i in range(2)) for tap in taps]
    places = [
        (np.arange(sizes[i]) * window.strides[i] - window.pads[i]) * steps[i] for i in range(2)
    ]
    node.check_elements((sizes[0] * sizes[1] + n * c,), 8)
    corners = (places[0][:, np.newaxis] + places[1]).reshape(1, 1, -1)
    channels = np.arange(n * c).reshape(n, c, 1) * (h * w)
    indices = node.add("gather", node.value(np.array(offsets)), best, axis=0)
    for base in (corners, channels):
        indices = combine(node, "add", indices, node.value(base))
    return node.reshape(indices, y.shape)


@handles("MaxUnpool")
def max_unpool(node: OnnxNode) -> Results:
    """Places values at indices of the image before a pool, and 0 elsewhere."""
    x = node.x(0)
    rank = len(x.shape) - 2
    kernel = node.integers("kernel_shape")
    strides = node.integers("strides") or (1,) * rank
    pads = node.integers("pads") or (0,) * (2 * rank)
    sizes = tuple(
        (x.shape[2 + i] - 1) * strides[i] + kernel[i] - pads[i] - pads[rank + i]
        for i in range(rank)
    )
    shape = (*x.shape[:2], *sizes)
    node.check_elements(shape)
    node.check_shape("indices", node.shape(1), x.shape)
    zeros = node.constant(np.zeros(shape, np.float32), "zeros")
    indices = node.operand(1)
    if isinstance(indices, np.ndarray) and not 0 <= indices.min() <= indices.max() < zeros.count:
        raise node.invalid(f"its indices do not fit {list(shape)}")
    y = scatter.scattered(node, zeros, x, indices)
    target = node.optional_ints(2, "output shape")
    if target and any(big < small for big, small in zip(target[2:], sizes, strict=True)):
        raise node.invalid(f"its output shape {list(target)} is smaller than {list(shape)}")
    more = {2 + i: (0, big - sizes[i]) for i, big in enumerate(target[2:])}
    return movement.padded(node, y, more)


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
    """One result per channel; x: [n, c, (d,) (h,) w]."""
    if node.type == "GlobalLpPool":
        axes = range(2, len(node.shape()))
        return _root(node, reduced(node, "sum", _power(node, node.x()), axes, keep_dims=True))
    return whole(node, "max" if node.type == "GlobalMaxPool" else "average", node.x())


def whole(node: OnnxNode, kind: pools.Kind, x: Value) -> Value:
    """Pools each channel of `x` to one element."""
    spatial = len(x.shape) - 2
    if spatial > 2:  # volumes: the other axes are rows of an image
        image = node.reshape(x, (*x.shape[:2], -1, x.shape[-1]))
        y = pools.adaptive_pool(node, kind, image, (1, 1))
        return node.reshape(y, (*x.shape[:2], *[1] * spatial))
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
