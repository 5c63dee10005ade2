"""Pooling: by windows, of whole images, adaptive."""

from __future__ import annotations

from typing import Any

from trimtab.importers._layers import Value
from trimtab.importers._nodes import adaptive_windows, regular_windows
from trimtab.importers.paddle_ops.node import Node, Results, handles
from trimtab.importers.paddle_ops.window import Pads, Pair, channels_first, padding, pair, restored

# An adaptive pool whose windows differ takes as many slices as it has rows and columns.
_MOST_SLICES = 64
_MOST_WINDOWS = 2**16  # in one direction


@handles("pool2d", "max_pool2d_with_index")
def pool(node: Node) -> Results:
    """x: [n, c, h, w]; the sizes that ceil_mode asks for are reached by padding."""
    indexed = node.type == "max_pool2d_with_index"
    method = "max" if indexed else node.text("pooling_type", "max")
    if method not in ("max", "avg"):
        raise node.unsupported(f"its pooling_type is {method}")
    x = channels_first(node, "X")
    name = {"max": "max_pool", "avg": "average_pool"}[method]
    if node.boolean("global_pooling", False):
        return restored(node, node.add(f"global_{name}", x))
    kernel = pair(node, "ksize")
    if node.boolean("adaptive", False):
        return restored(node, _adaptive(node, x, name, kernel))
    strides = pair(node, "strides", 1)
    pads = padding(node, x.shape[2:], kernel, strides)
    if node.boolean("ceil_mode", False):
        pads = _filled(node, x.shape[2:], kernel, strides, pads)
    attributes: dict[str, Any] = {}
    if method == "avg":
        attributes["count_include_pad"] = not node.boolean("exclusive", True)
    y = node.add(name, x, kernel_shape=kernel, strides=strides, pads=pads, **attributes)
    return restored(node, y)


def _filled(node: Node, size: tuple[int, ...], kernel: Pair, strides: Pair, pads: Pads) -> Pads:
    """Padding whose last windows end where those of sizes that are rounded up end."""
    ends = []
    for i in range(2):
        room = size[i] + pads[i] + pads[2 + i] - kernel[i]
        last = -(-room // strides[i]) * strides[i]
        if last >= size[i] + pads[i]:
            raise node.unsupported("its last window lies outside of the image")
        ends.append(max(pads[2 + i], last + kernel[i] - size[i] - pads[i]))
    return pads[0], pads[1], ends[0], ends[1]


def _adaptive(node: Node, x: Value, name: str, counts: Pair) -> Value:
    """As many windows as asked for, in both directions."""
    if min(counts) < 1 or max(counts) > _MOST_WINDOWS:
        raise node.invalid(f"its ksize is {counts}")
    if counts == (1, 1):
        return node.add(f"global_{name}", x)
    rows, columns = (regular_windows(x.shape[2 + i], counts[i]) for i in range(2))
    if rows and columns:
        (kernel_h, step_h), (kernel_w, step_w) = rows, columns
        return node.add(name, x, kernel_shape=(kernel_h, kernel_w), strides=(step_h, step_w))
    if sum(counts) > _MOST_SLICES:
        raise node.unsupported(f"its {counts[0]} x {counts[1]} windows differ in size")
    reduction = {"max_pool": "reduce_max", "average_pool": "reduce_mean"}[name]
    for axis, count in zip((2, 3), counts, strict=True):
        parts = [
            node.add(
                reduction,
                node.add("slice", x, starts=(begin,), ends=(end,), axes=(axis,), steps=(1,)),
                axes=(axis,),
                keep_dims=True,
            )
            for begin, end in adaptive_windows(x.shape[axis], count)
        ]
        x = node.add("concat", *parts, axis=axis) if count > 1 else parts[0]
    return x
