"""The windows of convolutions and pools, from their attributes."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.importers.onnx_ops.node import OnnxNode
from trimtab.importers.vocabulary.window import NO_PADS, Pads, Pair, Window, as_pair, split_padding


def window_of(node: OnnxNode, kernel: Sequence[int], size: Sequence[int]) -> Window:
    """The window of a node for an input of `size`; `kernel` may be one-dimensional."""
    window, mode = _unpadded(node, kernel), node.text("auto_pad", "NOTSET")
    if mode.startswith("SAME"):
        return window.same(size, lower=mode != "SAME_UPPER")
    return window if mode == "VALID" else window.padded(_four(node.integers("pads")))


def transposed(node: OnnxNode, kernel: Sequence[int], size: Sequence[int]) -> tuple[Window, Pair]:
    """Window and output padding of a transposed convolution of an input of `size`."""
    window, mode = _unpadded(node, kernel), node.text("auto_pad", "NOTSET")
    extra = as_pair(node.integers("output_padding"), 0)
    if output := node.integers("output_shape"):
        output = as_pair(output[-2:] if len(output) > 2 else output, 1)
    elif mode.startswith("SAME"):
        output = tuple(n * s for n, s in zip(size, window.strides, strict=True))
    else:
        return window.padded(NO_PADS if mode == "VALID" else _four(node.integers("pads"))), extra
    surplus = [f + e - o for f, e, o in zip(window.full_size(size), extra, output, strict=True)]
    # An output beyond the reach of the kernel is padded at the end.
    missing = [max(0, -s) for s in surplus]
    pads = split_padding(surplus, lower=mode != "SAME_UPPER")
    return window.padded(pads), (extra[0] + missing[0], extra[1] + missing[1])


def _unpadded(node: OnnxNode, kernel: Sequence[int]) -> Window:
    strides, dilations = (
        as_pair(node.integers("strides"), 1),
        as_pair(node.integers("dilations"), 1),
    )
    return Window(as_pair(kernel, 1), strides, dilations=dilations)


def _four(pads: tuple[int, ...]) -> Pads:
    if not pads:
        return NO_PADS
    return pads if len(pads) == 4 else (0, pads[0], 0, pads[1])
