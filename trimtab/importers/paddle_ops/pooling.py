"""Pooling with a window, global and adaptive pooling."""

from __future__ import annotations

from trimtab.importers.paddle_ops.node import PaddleNode, Results, handles
from trimtab.importers.paddle_ops.window import channels_first, pair, restored, window
from trimtab.importers.vocabulary import pooling as pools

_KINDS: dict[str, pools.Kind] = {"max": "max", "avg": "average"}


@handles("pool2d", "max_pool2d_with_index")
def pool(node: PaddleNode) -> Results:
    """Max or average pooling; x: [n, c, h, w]."""
    indexed = node.type == "max_pool2d_with_index"
    method = "max" if indexed else node.text("pooling_type", "max")
    if method not in _KINDS:
        raise node.unsupported(f"its pooling_type is {method}")
    x, kind = channels_first(node, "X"), _KINDS[method]
    if node.boolean("global_pooling", False):
        return restored(node, pools.adaptive_pool(node, kind, x, (1, 1)))
    kernel = pair(node, "ksize")
    if node.boolean("adaptive", False):
        return restored(node, pools.adaptive_pool(node, kind, x, kernel))
    size, taps = x.shape[2:], window(node, x.shape[2:], kernel)
    ceil = node.boolean("ceil_mode", False)
    for i in range(2) if ceil else ():
        end, stride = size[i] + taps.pads[i], taps.strides[i]
        if -(-(end + taps.pads[2 + i] - kernel[i]) // stride) * stride >= end:
            raise node.unsupported("its last window lies outside of the image")
    counted = not node.boolean("exclusive", True)
    counts = {"count_include_pad": counted, "count_overhang": counted}
    return restored(node, pools.pool(node, kind, x, taps, ceil_mode=ceil, **counts))
