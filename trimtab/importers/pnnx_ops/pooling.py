"""Pooling; signals are images of one row."""

from __future__ import annotations

from dataclasses import replace

from trimtab.importers._graph import Value
from trimtab.importers.pnnx_ops.operator import PnnxOperator, handles
from trimtab.importers.vocabulary import pooling as pools
from trimtab.importers.vocabulary.window import Window, as_pair, from_image, to_image


def _types(name: str, function: str) -> tuple[str, ...]:
    """The types of a module and a function, for signals and images."""
    return tuple(f"{prefix}{d}d" for d in (1, 2) for prefix in (f"nn.{name}", f"F.{function}"))


@handles(*_types("MaxPool", "max_pool"), *_types("AvgPool", "avg_pool"))
def pool(op: PnnxOperator) -> Value:
    """Max or average pooling; the default stride is the kernel size."""
    spatial = int(op.type[-2])
    source = op.x(0, "input")
    x = to_image(op, source, spatial)
    sizes = op.integers("kernel_size", spatial)
    kernel = as_pair(sizes, 1)
    has_stride = op.static("stride") not in (None, [])
    strides = as_pair(op.integers("stride", spatial) if has_stride else sizes, 1)
    pads = as_pair(op.integers("padding", spatial, 0), 0)
    window, ceil = Window(kernel, strides, pads * 2), op.boolean("ceil_mode", False)
    if "max" in op.type.lower():
        _check_indices(op)
        window = replace(window, dilations=as_pair(op.integers("dilation", spatial, 1), 1))
        y = pools.pool(op, "max", x, window, ceil_mode=ceil)
        return from_image(op, y, spatial, source)
    counted = op.boolean("count_include_pad", True)
    area = kernel[0] * kernel[1]
    divisor = op.integer("divisor_override", area)
    if divisor != area and (not counted or ceil):
        raise op.unsupported("it has a divisor, and windows of different sizes")
    y = pools.pool(op, "average", x, window, ceil_mode=ceil, count_include_pad=counted)
    return from_image(op, op.scaled(y, area / divisor if divisor else 1.0), spatial, source)


def _check_indices(op: PnnxOperator) -> None:
    if op.boolean("return_indices", False) and len(op.outputs) > 1:
        raise op.unsupported("it returns indices")


@handles(
    *_types("AdaptiveMaxPool", "adaptive_max_pool"),
    *_types("AdaptiveAvgPool", "adaptive_avg_pool"),
)
def adaptive(op: PnnxOperator) -> Value:
    """Pools to a size; None or 0 is the size of the input."""
    spatial = int(op.type[-2])
    source = op.x(0, "input")
    x = to_image(op, source, spatial)
    output = op.static("output_size")
    listed = output if isinstance(output, list) else [output] * spatial
    sizes = [n or 0 for n in listed if n is None or isinstance(n, int)]
    if not len(sizes) == len(listed) == spatial:
        raise op.unsupported(f"its size is {output}")
    _check_indices(op)
    size = (1, *sizes)[-2:]
    height, width = (n or length for n, length in zip(size, x.shape[2:], strict=True))
    kind: pools.Kind = "average" if "vg" in op.type.lower() else "max"
    return from_image(op, pools.adaptive_pool(op, kind, x, (height, width)), spatial, source)
