"""Convolution, transposed convolution, and matrix multiplication."""

from __future__ import annotations

import math

from trimtab.exporters.ncnn_ops.graph import NcnnOp, emits, padding, pair, raw, tagged


def _window(op: NcnnOp, kernel: tuple[int, ...]) -> dict[str, int]:
    """The parameters of a window."""
    if min(op["pads"]) < 0:
        raise op.refusal(f"its pads are {op['pads']}")
    params = pair("kernel", kernel) | pair("dilation", op["dilations"])
    return params | pair("stride", op["strides"]) | padding(op["pads"])


@emits("conv", "conv_transpose")
def convolution(op: NcnnOp) -> str:
    """Convolution or Deconvolution, with groups its form ...DepthWise."""
    op.image()
    w, bias, group = op.constant("w"), op.optional("bias"), op["group"]
    params = {"num_output": op.result.shape[1], **_window(op, w.shape[2:])}
    params |= {"bias_term": int(bias is not None), "weight_data_size": w.size}
    type = "Convolution"
    if op.op.type == "conv_transpose":
        # Files store weights by group, output, input, row and column.
        type = "Deconvolution"
        w = w.reshape(group, -1, *w.shape[1:]).swapaxes(1, 2)
        bottom, right = op["output_padding"]
        params |= {"output_pad_right": right, "output_pad_bottom": bottom}
    if group > 1:
        type, params = f"{type}DepthWise", {**params, "group": group}
    return op.add(type, op.x("x"), params, [tagged(w), *([] if bias is None else [raw(bias)])])


@emits("gemm")
def gemm(op: NcnnOp) -> str:
    """InnerProduct of a vector or of rows."""
    w, bias, x, shape = op.constant("w"), op.optional("bias"), op.x("x"), op.shape("x")
    params = {"num_output": len(w), "bias_term": int(bias is not None), "weight_data_size": w.size}
    if len(shape) > 3:
        x = op.reshape(x, (1, math.prod(shape[1:-1]), shape[-1]))
    y = op.add("InnerProduct", x, params, [tagged(w), *([] if bias is None else [raw(bias)])])
    return op.reshape(y, op.result.shape) if len(shape) > 3 else y


@emits("mat_mul")
def mat_mul(op: NcnnOp) -> str:
    """MatMul of matrices or stacks of them."""
    if min(len(op.shape(0)), len(op.shape(1))) < 3:
        raise op.refusal("its operands are not matrices beside a batch")
    return op.add("MatMul", op.xs(), {"transB": int(op["transpose_b"])})
