"""Pools; signals are images of one row."""

from __future__ import annotations

from dataclasses import replace

from trimtab.importers._graph import Value
from trimtab.importers.pnnx_ops.operator import PnnxOperator, handles
from trimtab.importers.vocabulary import pooling as pools
from trimtab.importers.vocabulary.window import Window, image, plane, restore


def _types(name: str, function: str) -> tuple[str, ...]:
    """Module and function, for signals and images."""
    return tuple(f"{prefix}{d}d" for d in (1, 2) for prefix in (f"nn.{name}", f"F.{function}"))


@handles(*_types("MaxPool", "max_pool"), *_types("AvgPool", "avg_pool"))
def pool(op: PnnxOperator) -> Value:
    """Maximum or mean over a window; without strides windows do not overlap."""
    spatial = int(op.type[-2])
    given = op.x(0, "input")
    x = image(op, given, spatial)
    sizes = op.integers("kernel_size", spatial)
    kernel = plane(sizes, 1)
    has_stride = op.static("stride") not in (None, [])
    strides = plane(op.integers("stride", spatial) if has_stride else sizes, 1)
    pads = plane(op.integers("padding", spatial, 0), 0)
    window, ceil = Window(kernel, strides, pads * 2), op.boolean("ceil_mode", False)
    if "max" in op.type.lower():
        _check_places(op)
        window = replace(window, dilations=plane(op.integers("dilation", spatial, 1), 1))
        y = pools.pool(op, "max", x, window, ceil_mode=ceil)
        return restore(op, y, spatial, given)
    counted = op.boolean("count_include_pad", True)
    area = kernel[0] * kernel[1]
    divisor = op.integer("divisor_override", area)
    if divisor != area and (not counted or ceil):
        raise op.unsupported("it has a divisor, and windows of several sizes")
    y = pools.pool(op, "average", x, window, ceil_mode=ceil, count_include_pad=counted)
    return restore(op, op.scaled(y, area / divisor if divisor else 1.0), spatial, given)


def _check_places(op: PnnxOperator) -> None:
    if op.boolean("return_indices", False) and len(op.outputs) > 1:
        raise op.unsupported("it returns places")


@handles(
    *_types("AdaptiveMaxPool", "adaptive_max_pool"),
    *_types("AdaptiveAvgPool", "adaptive_avg_pool"),
)
def adaptive(op: PnnxOperator) -> Value:
    """To a size; None or 0 stands for that of the input."""
    spatial = int(op.type[-2])
    given = op.x(0, "input")
    x = image(op, given, spatial)
    wanted = op.static("output_size")
    listed = wanted if isinstance(wanted, list) else [wanted] * spatial
    sizes = [n or 0 for n in listed if n is None or isinstance(n, int)]
    if not len(sizes) == len(listed) == spatial:
        raise op.unsupported(f"its size is {wanted}")
    _check_places(op)
    size = (1, *sizes)[-2:]
    height, width = (n or length for n, length in zip(size, x.shape[2:], strict=True))
    kind: pools.Kind = "average" if "vg" in op.type.lower() else "max"
    return restore(op, pools.adaptive_pool(op, kind, x, (height, width)), spatial, given)
