"""What the attributes of convolutions and pools say: the window, and its padding."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.importers.onnx_ops.node import OnnxNode
from trimtab.importers.vocabulary.window import NO_PADS, Pads, Pair, Window, plane, shared


def of(node: OnnxNode, kernel: Sequence[int], size: Sequence[int]) -> Window:
    """The window of a node, for an input of `size`; `kernel` may be that of a signal."""
    window, mode = _unpadded(node, kernel), node.text("auto_pad", "NOTSET")
    if mode.startswith("SAME"):
        return window.same(size, lower=mode != "SAME_UPPER")
    return window if mode == "VALID" else window.padded(_four(node.integers("pads")))


def transposed(node: OnnxNode, kernel: Sequence[int], size: Sequence[int]) -> tuple[Window, Pair]:
    """The window, and output padding, of a transposed convolution of an input of `size`."""
    window, mode = _unpadded(node, kernel), node.text("auto_pad", "NOTSET")
    extra = plane(node.integers("output_padding"), 0)
    if wanted := node.integers("output_shape"):
        wanted = plane(wanted[-2:] if len(wanted) > 2 else wanted, 1)
    elif mode.startswith("SAME"):
        wanted = tuple(n * s for n, s in zip(size, window.strides, strict=True))
    else:
        return window.padded(NO_PADS if mode == "VALID" else _four(node.integers("pads"))), extra
    surplus = [f + e - w for f, e, w in zip(window.reach(size), extra, wanted, strict=True)]
    # An output that is larger than what the kernel reaches is filled up at the far end.
    missing = [max(0, -s) for s in surplus]
    pads = shared(surplus, lower=mode != "SAME_UPPER")
    return window.padded(pads), (extra[0] + missing[0], extra[1] + missing[1])


def _unpadded(node: OnnxNode, kernel: Sequence[int]) -> Window:
    strides, dilations = plane(node.integers("strides"), 1), plane(node.integers("dilations"), 1)
    return Window(plane(kernel, 1), strides, dilations=dilations)


def _four(pads: tuple[int, ...]) -> Pads:
    if not pads:
        return NO_PADS
    return pads if len(pads) == 4 else (0, pads[0], 0, pads[1])
