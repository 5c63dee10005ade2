"""The windows of convolutions and pools, from their attributes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import onnx

from trimtab.importers._graph import Array
from trimtab.importers.onnx_ops.node import OnnxNode
from trimtab.importers.vocabulary.window import NO_PADS, Pads, Pair, Window, as_pair, split_padding

_CONVOLUTIONS = ("Conv", "ConvInteger", "ConvTranspose")
_FOLDED_BYTES = 8  # of an element: the reference computes some of them in float64


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


def folded_bytes(proto: onnx.NodeProto, feeds: Mapping[str, Array]) -> int:
    """The bytes of the temporary arrays with which a node with a window is computed for constant
    operands: the padded operand, or the window around each result. 0 for other nodes.
    """
    attributes = {a.name: tuple(a.ints) for a in proto.attribute}
    operands = [feeds[name] for name in proto.input if name]
    kernel = attributes.get("kernel_shape") or (operands[1].shape[2:] if len(operands) > 1 else ())
    if "kernel_shape" not in attributes and not proto.op_type.endswith(_CONVOLUTIONS):
        return 0
    rank = len(kernel)
    pads = attributes.get("pads") or (0,) * (2 * rank)
    dilations, strides = (attributes.get(name) or (1,) * rank for name in ("dilations", "strides"))
    spans = [k * d for k, d in zip(kernel, dilations, strict=False)]
    x = operands[0].shape
    if proto.op_type in ("ConvTranspose", "MaxUnpool"):
        elements = math.prod(n * s + k for n, s, k in zip(x[2:], strides, spans, strict=False))
    else:
        totals = [before + after for before, after in zip(pads[:rank], pads[rank:], strict=False)]
        padded = [n + p + k for n, p, k in zip(x[2:], totals, spans, strict=False)]
        results = [-(-n // max(1, s)) for n, s in zip(padded, strides, strict=False)]
        elements = max(math.prod(padded), math.prod(results) * math.prod(kernel))
    return int(_FOLDED_BYTES * math.prod(x[:2]) * elements)


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
