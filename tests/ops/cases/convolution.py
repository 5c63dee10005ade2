"""Conv and ConvTranspose, two- and one-dimensional."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.ops.cases.case import Case, Const, case, normal

Shape = tuple[int, ...]

# id: input, weight [out, in / groups, ...], attributes.
CONV: dict[str, tuple[Shape, Shape, dict[str, Any]]] = {
    "1x1": ((1, 3, 7, 5), (5, 3, 1, 1), {}),
    "1x1-one-pixel": ((1, 19, 1, 1), (7, 19, 1, 1), {}),
    "1x1-one-channel": ((1, 1, 5, 5), (1, 1, 1, 1), {}),
    "1x1-wide": ((1, 64, 9, 11), (96, 64, 1, 1), {}),
    "1x1-odd": ((1, 17, 9, 7), (33, 17, 1, 1), {}),
    "1x1-batch": ((3, 8, 5, 4), (12, 8, 1, 1), {}),
    "1x1-stride-2": ((1, 8, 9, 8), (16, 8, 1, 1), {"strides": [2, 2]}),
    "1x1-stride-2-3": ((2, 9, 8, 7), (16, 9, 1, 1), {"strides": [2, 3]}),
    "1x1-rows-4096-bytes-apart": ((2, 1024, 3, 5), (33, 1024, 1, 1), {}),
    "1x1-groups-rows-4096-bytes-apart": ((1, 1024, 4, 5), (16, 512, 1, 1), {"group": 2}),
    "1x1-halved": ((1, 512, 15, 15), (256, 512, 1, 1), {}),
    "1x1-halved-but-a-few-channels": ((1, 512, 15, 15), (261, 512, 1, 1), {}),
    "1x1-padded": ((1, 4, 5, 5), (6, 4, 1, 1), {"pads": [1, 2, 0, 1]}),
    "3x3": ((1, 3, 8, 9), (4, 3, 3, 3), {}),
    "3x3-pad": ((1, 16, 10, 11), (24, 16, 3, 3), {"pads": [1, 1, 1, 1]}),
    "3x3-wide": ((1, 64, 14, 14), (64, 64, 3, 3), {"pads": [1, 1, 1, 1]}),
    "3x3-batch": ((2, 7, 6, 6), (9, 7, 3, 3), {"pads": [1, 1, 1, 1]}),
    "3x3-stride-2": ((1, 3, 17, 16), (8, 3, 3, 3), {"pads": [1, 1, 1, 1], "strides": [2, 2]}),
    "3x3-rows-4096-bytes-apart": (
        (2, 512, 7, 6),
        (19, 512, 3, 3),
        {"pads": [1, 1, 1, 1], "strides": [2, 2]},
    ),
    "3x3-stride-2-1": ((1, 5, 9, 10), (6, 5, 3, 3), {"strides": [2, 1]}),
    "3x3-stride-over-kernel": ((1, 4, 13, 13), (4, 4, 3, 3), {"strides": [4, 5]}),
    "3x3-asymmetric-pads": ((1, 4, 7, 6), (5, 4, 3, 3), {"pads": [0, 2, 1, 3]}),
    "3x3-pads-over-kernel": ((1, 2, 4, 4), (3, 2, 3, 3), {"pads": [4, 4, 4, 4]}),
    # Images that are large enough to be computed in plain order.
    "planes-3x3": ((2, 3, 43, 61), (5, 3, 3, 3), {}),
    "planes-groups": (
        (1, 12, 37, 45),
        (18, 4, 5, 2),
        {"group": 3, "strides": [2, 1], "pads": [1, 0, 3, 1]},
    ),
    "planes-depthwise": ((1, 6, 41, 53), (6, 1, 7, 7), {"group": 6, "pads": [3, 3, 3, 3]}),
    "planes-dilated": (
        (1, 8, 47, 61),
        (7, 8, 2, 3),
        {"dilations": [3, 4], "pads": [4, 5, 0, 2], "strides": [3, 2]},
    ),
    "3x3-dilation-2": ((1, 6, 11, 12), (7, 6, 3, 3), {"dilations": [2, 2], "pads": [2, 2, 2, 2]}),
    "3x3-dilation-1-3": ((1, 3, 9, 13), (4, 3, 3, 3), {"dilations": [1, 3]}),
    "3x3-dilation-stride": (
        (1, 3, 15, 15),
        (4, 3, 3, 3),
        {"dilations": [2, 3], "strides": [2, 3], "pads": [1, 2, 3, 4]},
    ),
    "3x3-dilation-over-image": (
        (1, 3, 5, 6),
        (4, 3, 3, 3),
        {"dilations": [7, 3], "pads": [7, 3, 7, 3]},
    ),
    "3x3-dilated-far": (
        (2, 17, 13, 28),
        (35, 17, 3, 3),
        {"dilations": [6, 20], "pads": [6, 20, 6, 20]},
    ),
    "3x3-dilated-past-the-image": (
        (1, 16, 7, 9),
        (34, 16, 3, 3),
        {"dilations": [9, 12], "pads": [9, 12, 9, 12]},
    ),
    # More tiles than pointers are stored for; parts that do not begin at the first slot.
    "3x3-groups-of-many-tiles": (
        (3, 24, 19, 17),
        (24, 8, 3, 3),
        {"group": 3, "pads": [1, 1, 1, 1]},
    ),
    "3x3-groups-of-many-parts": (
        (1, 128, 24, 24),
        (128, 4, 3, 3),
        {"group": 32, "pads": [1, 1, 1, 1]},
    ),
    "3x3-stride-2-dilated-groups": (
        (1, 40, 9, 15),
        (72, 20, 3, 3),
        {"group": 2, "strides": [2, 2], "dilations": [5, 4], "pads": [5, 4, 5, 4]},
    ),
    "1x1-padded-by-lines": ((1, 18, 3, 15), (33, 18, 1, 1), {"pads": [4, 1, 3, 0]}),
    "2x5-padded-by-lines": ((1, 20, 4, 14), (21, 20, 2, 5), {"pads": [5, 0, 4, 30]}),
    "3x3-on-one-pixel": ((1, 5, 1, 1), (6, 5, 3, 3), {"pads": [1, 1, 1, 1]}),
    "5x5": ((1, 6, 9, 9), (10, 6, 5, 5), {"pads": [2, 2, 2, 2]}),
    "5x5-wide": ((1, 32, 14, 13), (48, 32, 5, 5), {"pads": [2, 2, 2, 2]}),
    "7x7-stride-2-first-layer": (
        (1, 3, 33, 31),
        (16, 3, 7, 7),
        {"pads": [3, 3, 3, 3], "strides": [2, 2]},
    ),
    "7x7-stride-2-wide": (
        (2, 3, 63, 70),
        (64, 3, 7, 7),
        {"pads": [3, 3, 3, 3], "strides": [2, 2]},
    ),
    "1x7": ((1, 4, 5, 12), (6, 4, 1, 7), {"pads": [0, 3, 0, 3]}),
    "7x1": ((1, 4, 12, 5), (6, 4, 7, 1), {"pads": [3, 0, 3, 0]}),
    "2x2-even": ((1, 3, 7, 7), (4, 3, 2, 2), {"strides": [2, 2]}),
    "4x4-even": ((1, 3, 9, 9), (4, 3, 4, 4), {"pads": [1, 1, 2, 2]}),
    "whole-image": ((1, 6, 5, 7), (11, 6, 5, 7), {}),
    "groups-2": ((1, 8, 7, 7), (6, 4, 3, 3), {"group": 2, "pads": [1, 1, 1, 1]}),
    "groups-3-odd": ((1, 15, 6, 5), (21, 5, 3, 3), {"group": 3}),
    "groups-32-of-4": ((1, 128, 5, 6), (128, 4, 3, 3), {"group": 32, "pads": [1, 1, 1, 1]}),
    "groups-15-of-2-to-3": ((2, 30, 5, 4), (45, 2, 2, 3), {"group": 15, "strides": [2, 1]}),
    "groups-12-1x1": ((1, 24, 5, 7), (36, 2, 1, 1), {"group": 12}),
    "groups-4-1x1": ((1, 32, 6, 6), (64, 8, 1, 1), {"group": 4}),
    "groups-stride-dilation": (
        (2, 8, 11, 11),
        (12, 2, 3, 3),
        {"group": 4, "strides": [2, 2], "dilations": [2, 2], "pads": [2, 2, 2, 2]},
    ),
    "depthwise-3x3": ((1, 8, 9, 9), (8, 1, 3, 3), {"group": 8, "pads": [1, 1, 1, 1]}),
    "depthwise-3x3-odd": ((1, 33, 7, 5), (33, 1, 3, 3), {"group": 33, "pads": [1, 1, 1, 1]}),
    "depthwise-3x3-wide": ((1, 96, 6, 7), (96, 1, 3, 3), {"group": 96, "pads": [1, 1, 1, 1]}),
    "depthwise-3x3-batch": ((2, 9, 6, 6), (9, 1, 3, 3), {"group": 9, "pads": [1, 1, 1, 1]}),
    "depthwise-3x3-stride-2": (
        (1, 16, 11, 12),
        (16, 1, 3, 3),
        {"group": 16, "strides": [2, 2], "pads": [1, 1, 1, 1]},
    ),
    "depthwise-3x3-asymmetric": (
        (1, 4, 8, 8),
        (4, 1, 3, 3),
        {"group": 4, "strides": [2, 2], "pads": [0, 0, 1, 1]},
    ),
    "depthwise-5x5": ((1, 12, 9, 8), (12, 1, 5, 5), {"group": 12, "pads": [2, 2, 2, 2]}),
    "depthwise-3x3-stride-2-odd": (
        (2, 29, 9, 7),
        (29, 1, 3, 3),
        {"group": 29, "strides": [2, 2], "pads": [1, 1, 1, 1]},
    ),
    "depthwise-3x3-tail": ((1, 58, 7, 7), (58, 1, 3, 3), {"group": 58, "pads": [1, 1, 1, 1]}),
    "depthwise-5x5-odd": ((1, 37, 7, 5), (37, 1, 5, 5), {"group": 37, "pads": [2, 2, 2, 2]}),
    "depthwise-5x5-stride-2": (
        (1, 24, 13, 11),
        (24, 1, 5, 5),
        {"group": 24, "strides": [2, 2], "pads": [2, 2, 2, 2]},
    ),
    "depthwise-7x7": ((1, 6, 10, 10), (6, 1, 7, 7), {"group": 6, "pads": [3, 3, 3, 3]}),
    "depthwise-2x3": ((1, 5, 6, 7), (5, 1, 2, 3), {"group": 5}),
    "depthwise-dilated": (
        (1, 7, 12, 12),
        (7, 1, 3, 3),
        {"group": 7, "dilations": [2, 3], "pads": [2, 3, 2, 3]},
    ),
    "depthwise-on-one-pixel": ((1, 6, 1, 1), (6, 1, 3, 3), {"group": 6, "pads": [1, 1, 1, 1]}),
    "depthwise-multiplier-2": ((1, 5, 7, 7), (10, 1, 3, 3), {"group": 5, "pads": [1, 1, 1, 1]}),
    "one-channel-to-many": ((1, 1, 7, 7), (9, 1, 3, 3), {}),
    "same-upper": ((1, 3, 7, 8), (4, 3, 3, 3), {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
    "same-lower": ((1, 3, 7, 8), (4, 3, 3, 3), {"auto_pad": "SAME_LOWER", "strides": [2, 2]}),
    "same-upper-even": ((1, 3, 6, 7), (4, 3, 2, 4), {"auto_pad": "SAME_UPPER"}),
    "same-lower-even": ((1, 3, 6, 7), (4, 3, 2, 4), {"auto_pad": "SAME_LOWER"}),
    "same-stride-over-kernel": (
        (1, 3, 8, 8),
        (4, 3, 1, 2),
        {"auto_pad": "SAME_UPPER", "strides": [3, 3]},
    ),
    "valid": ((1, 3, 7, 8), (4, 3, 3, 3), {"auto_pad": "VALID", "strides": [2, 2]}),
    "1d": ((1, 4, 13), (6, 4, 3), {}),
    "1d-padded": ((2, 4, 13), (6, 4, 5), {"pads": [2, 1], "strides": [2]}),
    "1d-groups-dilated": ((1, 6, 20), (6, 2, 3), {"group": 3, "dilations": [2]}),
    "1d-same-lower": ((1, 3, 11), (4, 3, 4), {"auto_pad": "SAME_LOWER", "strides": [2]}),
}

# id: input, weight [in, out / groups, ...], attributes.
TRANSPOSED: dict[str, tuple[Shape, Shape, dict[str, Any]]] = {
    "1x1": ((1, 3, 4, 5), (3, 6, 1, 1), {}),
    "2x2-stride-2": ((1, 8, 5, 6), (8, 4, 2, 2), {"strides": [2, 2]}),
    "3x3": ((1, 3, 5, 5), (3, 4, 3, 3), {}),
    "3x3-stride-2-output-padding": (
        (1, 5, 6, 7),
        (5, 7, 3, 3),
        {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]},
    ),
    "4x4-stride-2": ((2, 6, 5, 4), (6, 3, 4, 4), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
    "4x4-few-outputs": ((2, 12, 33, 37), (12, 3, 4, 4), {"strides": [2, 2]}),
    "4x4-even-pads": ((2, 6, 5, 4), (6, 3, 4, 4), {"strides": [2, 2], "pads": [1, 2, 1, 0]}),
    "asymmetric-pads": ((1, 2, 6, 6), (2, 3, 3, 3), {"strides": [2, 1], "pads": [0, 1, 2, 0]}),
    "stride-over-kernel": ((1, 3, 4, 4), (3, 2, 2, 2), {"strides": [3, 4]}),
    "groups": ((1, 6, 5, 5), (6, 2, 3, 3), {"group": 3, "strides": [2, 2], "pads": [1, 1, 1, 1]}),
    "depthwise": (
        (1, 7, 5, 5),
        (7, 1, 4, 4),
        {"group": 7, "strides": [2, 2], "pads": [1, 1, 1, 1]},
    ),
    "dilated": ((1, 3, 5, 5), (3, 4, 3, 3), {"dilations": [2, 2], "pads": [1, 1, 1, 1]}),
    "output-shape": ((1, 3, 5, 5), (3, 4, 3, 3), {"strides": [2, 2], "output_shape": [10, 12]}),
    "same-upper": ((1, 3, 5, 5), (3, 4, 3, 3), {"strides": [2, 2], "auto_pad": "SAME_UPPER"}),
    "same-lower": ((1, 3, 5, 5), (3, 4, 3, 3), {"strides": [2, 2], "auto_pad": "SAME_LOWER"}),
    "valid": ((1, 3, 5, 5), (3, 4, 3, 3), {"strides": [2, 2], "auto_pad": "VALID"}),
    "1d": ((1, 4, 7), (4, 5, 4), {"strides": [2], "pads": [1, 1]}),
    "1d-output-padding": ((1, 4, 7), (4, 5, 3), {"strides": [3], "output_padding": [2]}),
}


def cases() -> Iterator[Case]:
    """Each shape with a bias; some without a bias, without attributes, or in other opsets."""
    for name, (x, w, attributes) in CONV.items():
        bias = Const(normal(w[0], seed="bias"))
        values = {"kernel_shape": list(w[2:])} | attributes
        yield case(name, "Conv", normal(*x), Const(normal(*w)), bias, **values)
    for name in ("1x1", "3x3-pad", "depthwise-3x3", "groups-2", "1d"):
        x, w, attributes = CONV[name]
        weight = Const(normal(*w))
        yield case(f"{name}-no-bias", "Conv", normal(*x), weight, opset=7, **attributes)
        yield case(f"{name}-opset-22", "Conv", normal(*x), weight, opset=22, **attributes)

    for name, (x, w, attributes) in TRANSPOSED.items():
        bias = Const(normal(w[1] * attributes.get("group", 1), seed="bias"))
        values = {"kernel_shape": list(w[2:])} | attributes
        yield case(name, "ConvTranspose", normal(*x), Const(normal(*w)), bias, **values)
    for name, (x, w, attributes) in TRANSPOSED.items():
        operands = normal(*x), normal(*w), normal(w[1] * attributes.get("group", 1), seed="bias")
        yield case(f"{name}-computed", "ConvTranspose", *operands, **attributes)
    for name, (x, w, attributes) in CONV.items():
        operands = normal(*x), normal(*w), normal(w[0], seed="bias")
        yield case(f"{name}-computed", "Conv", *operands, **attributes)
    for name in ("2x2-stride-2", "groups", "1d"):
        x, w, attributes = TRANSPOSED[name]
        weight = Const(normal(*w))
        yield case(f"{name}-no-bias", "ConvTranspose", normal(*x), weight, opset=7, **attributes)
