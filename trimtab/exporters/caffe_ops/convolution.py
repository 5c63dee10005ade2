"""Convolution, transposed convolution, and matrix multiplication."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trimtab.exporters._layers import Array
from trimtab.exporters.caffe_ops.graph import CaffeOp, emits, pair
from trimtab.importers.caffe_ops.spec import DILATION, KERNEL, PAD, STRIDE


@emits("conv")
def conv(op: CaffeOp) -> str:
    """Convolution."""
    op.image()
    operands = op.constant("w"), op.optional("bias")
    window = op["strides"], op["pads"], op["dilations"]
    return convolution(op, op.x("x"), *operands, *window, op["group"])


def convolution(
    op: CaffeOp,
    x: str,
    w: Array,
    bias: Array | None,
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    group: int,
) -> str:
    """Adds a Convolution with weights [m, c / group, h, w].

    Caffe pads both sides alike: a side that needs less padding gets taps of 0.
    """
    if min(pads) < 0:
        raise op.refusal(f"its pads are {list(pads)}")
    widened, padding = [(0, 0), (0, 0)], list[int]()
    for i in range(2):
        begin, end, dilation = pads[i], pads[2 + i], dilations[i]
        if (end - begin) % dilation:
            raise op.refusal(f"its pads are {list(pads)}, its dilations {list(dilations)}")
        taps = (end - begin) // dilation
        widened.append((max(0, taps), max(0, -taps)))
        padding.append(max(begin, end))
    w = np.pad(w, widened)
    params = _window(w, bias, strides, padding, dilations, group)
    return op.add("Convolution", x, params, [w, *([] if bias is None else [bias])])


def mixed(op: CaffeOp, x: str, factors: Array) -> str:
    """Adds sums of the channels of an image, multiplied by the rows of `factors`."""
    return convolution(op, x, factors[:, :, None, None], None, (1, 1), (0,) * 4, (1, 1), 1)


def _window(
    w: Array,
    bias: Array | None,
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    group: int,
) -> dict[str, Any]:
    params: dict[str, Any] = {"num_output": len(w)}
    params |= {} if bias is not None else {"bias_term": False}
    params |= pair(KERNEL, w.shape[2:]) | pair(STRIDE, strides) | pair(PAD, pads)
    params |= {} if tuple(dilations) == (1, 1) else {DILATION.name: list(dilations)}
    return params | ({} if group == 1 else {"group": group})


@emits("conv_transpose")
def conv_transpose(op: CaffeOp) -> str:
    """Deconvolution; its weights are [c, m / group, h, w], as in Caffe."""
    op.image()
    w, bias, pads = op.constant("w"), op.optional("bias"), op["pads"]
    if pads[0] != pads[2] or pads[1] != pads[3] or min(pads) < 0:
        raise op.refusal(f"its pads are {list(pads)}, which differ at opposite sides")
    params = _window(w, bias, op["strides"], pads[:2], op["dilations"], op["group"])
    params["num_output"] = op.result.shape[1]
    weights = [w, *([] if bias is None else [bias])]
    return op.add("Deconvolution", op.x("x"), params, weights)


@emits("gemm")
def gemm(op: CaffeOp) -> str:
    """InnerProduct over the last axis."""
    w, bias, axis = op.constant("w"), op.optional("bias"), len(op.shape("x")) - 1
    params: dict[str, Any] = {"num_output": len(w)}
    params |= {} if bias is not None else {"bias_term": False}
    params |= {} if axis == 1 else {"axis": axis}
    weights = [w, *([] if bias is None else [bias])]
    return op.add("InnerProduct", op.x("x"), params, weights)
