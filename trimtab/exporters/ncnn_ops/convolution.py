"""Convolution, transposed convolution, and matrix multiplication."""

from __future__ import annotations

import math

from trimtab.exporters.ncnn_ops.graph import NcnnOp, emits, raw, tagged


def _window(op: NcnnOp, kernel: tuple[int, ...]) -> dict[int, int]:
    """The parameters of a window, except those of a pool."""
    (dilation_h, dilation_w), (stride_h, stride_w) = op["dilations"], op["strides"]
    top, left, bottom, right = op["pads"]
    if min(top, left, bottom, right) < 0:
        raise op.refusal(f"its pads are {op['pads']}")
    params = {1: kernel[1], 11: kernel[0], 2: dilation_w, 12: dilation_h}
    params |= {3: stride_w, 13: stride_h}
    return params | {4: left, 14: top, 15: right, 16: bottom}


@emits("conv", "conv_transpose")
def convolution(op: NcnnOp) -> str:
    """Convolution or Deconvolution, with groups its form ...DepthWise."""
    op.image()
    w, bias, group = op.constant("w"), op.optional("bias"), op["group"]
    params = {0: op.result.shape[1], **_window(op, w.shape[2:])}
    params |= {5: int(bias is not None), 6: w.size}
    type = "Convolution"
    if op.op.type == "conv_transpose":
        # Files store weights by group, output, input, row and column.
        type = "Deconvolution"
        w = w.reshape(group, -1, *w.shape[1:]).swapaxes(1, 2)
        params |= {18: op["output_padding"][1], 19: op["output_padding"][0]}
    if group > 1:
        type, params = f"{type}DepthWise", {**params, 7: group}
    return op.add(type, op.x("x"), params, [tagged(w), *([] if bias is None else [raw(bias)])])


@emits("gemm")
def gemm(op: NcnnOp) -> str:
    """InnerProduct of a vector or of rows."""
    w, bias, x, shape = op.constant("w"), op.optional("bias"), op.x("x"), op.shape("x")
    params = {0: len(w), 1: int(bias is not None), 2: w.size}
    if len(shape) > 3:
        x = op.reshape(x, (1, math.prod(shape[1:-1]), shape[-1]))
    y = op.add("InnerProduct", x, params, [tagged(w), *([] if bias is None else [raw(bias)])])
    return op.reshape(y, op.result.shape) if len(shape) > 3 else y


@emits("mat_mul")
def mat_mul(op: NcnnOp) -> str:
    """MatMul of matrices or stacks of them."""
    if min(len(op.shape(0)), len(op.shape(1))) < 3:
        raise op.refusal("its operands are no matrices beside a batch")
    return op.add("MatMul", op.xs(), {0: int(op["transpose_b"])})
