"""Pooling and resizing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from trimtab.exporters.ncnn_ops.graph import NcnnOp, emits, padding, pair
from trimtab.exporters.ncnn_ops.movement import padded


@emits("max_pool", "average_pool")
def pool(op: NcnnOp) -> str:
    """Pooling with the padding at the end that the size of the result needs."""
    *_, height, width = op.image()
    kernel, strides, average = op["kernel_shape"], op["strides"], op.op.type == "average_pool"
    pads, x = list(op["pads"]), op.x()
    if not average and math.isfinite(value := op["pad_value"]) and any(pads):
        amounts = (0, 0, pads[0], pads[1], 0, 0, pads[2], pads[3])
        x, pads = padded(op, x, amounts, "constant", value), [0, 0, 0, 0]
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
    params: dict[str, Any] = {"pooling_type": "average" if average else "max"}
    params |= pair("kernel", kernel) | pair("stride", strides) | padding(pads)
    params |= {"pad_mode": "valid", "avgpool_count_include_pad": int(counted)}
    return op.add("Pooling", x, params)


@emits("global_max_pool", "global_average_pool")
def global_pool(op: NcnnOp) -> str:
    """Pooling over the image, whose result ncnn makes a vector."""
    op.image()
    kind = op.op.type.removeprefix("global_").removesuffix("_pool")
    y = op.add("Pooling", op.x(), {"pooling_type": kind, "global_pooling": 1})
    return op.reshape(y, op.result.shape)


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
    params: dict[str, float] = {"output_height": rows, "output_width": columns}
    if scales and (size[0] * scales[0], size[1] * scales[1]) != (rows, columns):
        sizes = [int(np.float32(n) * np.float32(s)) for n, s in zip(size, scales, strict=True)]
        if sizes != [rows, columns] or kind[1] == "align_corners":
            raise op.refusal(f"its sizes {[rows, columns]} differ from its scales {list(scales)}")
        params = {"height_scale": float(scales[0]), "width_scale": float(scales[1])}
    corners = int(kind[1] == "align_corners")
    return op.add("Interp", op.x(), {"resize_type": kind[0], **params, "align_corner": corners})
