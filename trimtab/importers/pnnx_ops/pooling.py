"""Pools; signals are images of one row."""

from __future__ import annotations

from typing import Literal

from trimtab.importers._adaptive_pool import MOST_WINDOWS, adaptive_pool
from trimtab.importers._layers import Value
from trimtab.importers.pnnx_ops.convolution import image, plane, restore
from trimtab.importers.pnnx_ops.operator import Operator, handles


def _types(name: str, function: str) -> tuple[str, ...]:
    """Module and function, for signals and images."""
    return tuple(f"{prefix}{d}d" for d in (1, 2) for prefix in (f"nn.{name}", f"F.{function}"))


@handles(*_types("MaxPool", "max_pool"), *_types("AvgPool", "avg_pool"))
def pool(op: Operator) -> Value:
    """Maximum or mean over a window; without strides windows do not overlap."""
    spatial = int(op.type[-2])
    given = op.x(0, "input")
    x = image(op, given, spatial)
    window = op.integers("kernel_size", spatial)
    kernel = plane(window, 1)
    has_stride = op.static("stride") not in (None, [])
    strides = plane(op.integers("stride", spatial) if has_stride else window, 1)
    pads = plane(op.integers("padding", spatial, 0), 0)
    if min(*kernel, *strides) < 1 or min(pads) < 0:
        raise op.invalid(f"its window is {kernel}, its stride {strides}, its padding {pads}")
    shared = {"kernel_shape": kernel, "strides": strides, "pads": (*pads, *pads)}
    ceil = op.boolean("ceil_mode", False)
    if "max" in op.type.lower():
        if op.boolean("return_indices", False) and op.outputs > 1:
            raise op.unsupported("it returns places")
        dilations = plane(op.integers("dilation", spatial, 1), 1)
        y = op.add("max_pool", x, ceil_mode=ceil, dilations=dilations, **shared)
        return restore(op, y, spatial, given)
    counted = op.boolean("count_include_pad", True)
    area = kernel[0] * kernel[1]
    divisor = op.integer("divisor_override", area)
    if divisor != area and (not counted or ceil):
        raise op.unsupported("it has a divisor, and windows of several sizes")
    y = op.add("average_pool", x, ceil_mode=ceil, count_include_pad=counted, **shared)
    return restore(op, op.scaled(y, area / divisor if divisor else 1.0), spatial, given)


@handles(
    *_types("AdaptiveMaxPool", "adaptive_max_pool"),
    *_types("AdaptiveAvgPool", "adaptive_avg_pool"),
)
def adaptive(op: Operator) -> Value:
    """To a size; None or 0 stands for that of the input."""
    spatial = int(op.type[-2])
    given = op.x(0, "input")
    x = image(op, given, spatial)
    wanted = op.static("output_size")
    listed = wanted if isinstance(wanted, list) else [wanted] * spatial
    sizes = [n or 0 for n in listed if n is None or isinstance(n, int)]
    if (
        not len(sizes) == len(listed) == spatial
        or not 0 <= min(sizes) <= max(sizes) <= MOST_WINDOWS
    ):
        raise op.unsupported(f"its size is {wanted}")
    if op.boolean("return_indices", False) and op.outputs > 1:
        raise op.unsupported("it returns places")
    size = (1, *sizes)[-2:]
    height, width = (n or length for n, length in zip(size, x.shape[2:], strict=True))
    kind: Literal["average", "max"] = "average" if "vg" in op.type.lower() else "max"
    y = adaptive_pool(op.add, op.constant, x, (height, width), kind)
    return restore(op, y, spatial, given)
