"""Pooling and resizing."""

from __future__ import annotations

import math

import numpy as np

from trimtab.exporters.ncnn_ops.graph import NcnnOp, emits
from trimtab.exporters.ncnn_ops.movement import padding

_VALID = 1  # the pad_mode that rounds the size down


@emits("max_pool", "average_pool")
def pool(op: NcnnOp) -> str:
    """Pooling with the padding at the end that the size of the result needs."""
    *_, height, width = op.image()
    kernel, strides, average = op["kernel_shape"], op["strides"], op.op.type == "average_pool"
    pads, x = list(op["pads"]), op.x()
    if not average and math.isfinite(value := op["pad_value"]) and any(pads):
        amounts = (0, 0, pads[0], pads[1], 0, 0, pads[2], pads[3])
        x, pads = padding(op, x, amounts, "constant", value), [0, 0, 0, 0]
        height, width = (
            n + op["pads"][i] + op["pads"][2 + i] for i, n in enumerate((height, width))
        )
    ceil, counted = op["ceil_mode"], average and op["count_include_pad"] and any(pads)
    for i, size in enumerate((height, width)):
        needed = (op.result.shape[2 + i] - 1) * strides[i] + kernel[i] - size - pads[i]
        if counted and needed > pads[2 + i]:
            raise op.refusal("its mean counts padding, but not beyond the padded image (ceil_mode)")
        if ceil:
            pads[2 + i] = max(0, needed)
    top, left, bottom, right = pads
    params = {0: int(average), 1: kernel[1], 11: kernel[0], 2: strides[1], 12: strides[0]}
    params |= {3: left, 13: top, 14: right, 15: bottom, 5: _VALID, 6: int(counted)}
    return op.add("Pooling", x, params)


@emits("global_max_pool", "global_average_pool")
def global_pool(op: NcnnOp) -> str:
    """Pooling over the image, whose result ncnn makes a vector."""
    kind = int(op.op.type == "global_average_pool")
    op.image()
    return op.reshape(op.add("Pooling", op.x(), {0: kind, 4: 1}), op.result.shape)


@emits("resize")
def resize(op: NcnnOp) -> str:
    """Interp to a size, or by the scales of the model."""
    _, _, *size = op.image()
    kind = op["mode"], op["coordinate_mode"]
    if kind[0] == "nearest" and (kind[1] != "asymmetric" or op["nearest_mode"] != "floor"):
        raise op.refusal(f"its coordinate_mode is {kind[1]}, its nearest_mode {op['nearest_mode']}")
    if kind[0] == "linear" and kind[1] not in ("half_pixel", "align_corners"):
        raise op.refusal(f"its coordinate_mode is {kind[1]}")
    op["nearest_mode"]  # without effect in linear mode
    (rows, columns), scales = op["sizes"], op["scales"]
    params: dict[int, float] = {0: 1 if kind[0] == "nearest" else 2, 3: rows, 4: columns}
    if scales and (size[0] * scales[0], size[1] * scales[1]) != (rows, columns):
        sizes = [int(np.float32(n) * np.float32(s)) for n, s in zip(size, scales, strict=True)]
        if sizes != [rows, columns] or kind[1] == "align_corners":
            raise op.refusal(f"its sizes {[rows, columns]} differ from its scales {list(scales)}")
        params = {0: params[0], 1: float(scales[0]), 2: float(scales[1])}
    return op.add("Interp", op.x(), params | {6: int(kind[1] == "align_corners")})
