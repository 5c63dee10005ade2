"""MaxPool, AveragePool and the global pools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.ops.cases.case import Case, case, normal

Shape = tuple[int, ...]

# id: input, attributes; for both kinds of pool.
POOL: dict[str, tuple[Shape, dict[str, Any]]] = {
    "2x2": ((1, 3, 8, 8), {"kernel_shape": [2, 2], "strides": [2, 2]}),
    "2x2-odd": ((1, 5, 7, 9), {"kernel_shape": [2, 2], "strides": [2, 2]}),
    "2x2-stride-1": ((1, 5, 6, 6), {"kernel_shape": [2, 2]}),
    "3x3-stride-2": ((1, 17, 9, 11), {"kernel_shape": [3, 3], "strides": [2, 2]}),
    "3x3-pad": ((2, 8, 7, 7), {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
    "3x3-pad-stride-2": (
        (1, 33, 8, 9),
        {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]},
    ),
    "3x2-asymmetric-pads": (
        (1, 4, 7, 7),
        {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [0, 1, 2, 0]},
    ),
    "5x5-pad-on-small": ((1, 3, 3, 3), {"kernel_shape": [5, 5], "pads": [2, 2, 2, 2]}),
    "9x9-pad": ((1, 6, 10, 10), {"kernel_shape": [9, 9], "pads": [4, 4, 4, 4]}),
    "whole-image": ((1, 10, 7, 6), {"kernel_shape": [7, 6]}),
    "1x1-stride-2": ((1, 3, 7, 7), {"kernel_shape": [1, 1], "strides": [2, 2]}),
    "1x3": ((1, 3, 5, 9), {"kernel_shape": [1, 3], "strides": [1, 2]}),
    "same-upper": (
        (1, 3, 7, 8),
        {"kernel_shape": [3, 2], "strides": [2, 2], "auto_pad": "SAME_UPPER"},
    ),
    "same-lower": (
        (1, 3, 7, 8),
        {"kernel_shape": [3, 2], "strides": [2, 2], "auto_pad": "SAME_LOWER"},
    ),
    "valid": ((1, 3, 8, 7), {"kernel_shape": [3, 3], "strides": [2, 2], "auto_pad": "VALID"}),
    "ceil": ((1, 3, 8, 8), {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
    "ceil-112": ((1, 4, 12, 13), {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
    "ceil-pad": (
        (1, 3, 8, 9),
        {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1},
    ),
    "ceil-2x2-pad": (
        (1, 3, 7, 7),
        {"kernel_shape": [2, 2], "strides": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1},
    ),
    # The last window would start in the right padding, so it does not exist.
    "ceil-window-in-padding": (
        (1, 2, 6, 6),
        {"kernel_shape": [2, 2], "strides": [3, 3], "pads": [1, 1, 1, 1], "ceil_mode": 1},
    ),
    "ceil-beyond": ((1, 3, 7, 5), {"kernel_shape": [20, 9], "strides": [20, 9], "ceil_mode": 1}),
    "ceil-beyond-pad": (
        (1, 3, 4, 9),
        {"kernel_shape": [9, 3], "strides": [5, 2], "pads": [1, 1, 2, 1], "ceil_mode": 1},
    ),
    "1d": ((1, 4, 11), {"kernel_shape": [3], "strides": [2], "pads": [1, 0]}),
    "1d-ceil": ((2, 3, 10), {"kernel_shape": [3], "strides": [2], "ceil_mode": 1}),
    "1d-same-upper": (
        (1, 3, 10),
        {"kernel_shape": [4], "strides": [3], "auto_pad": "SAME_UPPER"},
    ),
}

DILATED: dict[str, tuple[Shape, dict[str, Any]]] = {
    "dilated": ((1, 3, 9, 9), {"kernel_shape": [3, 3], "dilations": [2, 3]}),
    "dilated-pad-stride-ceil": (
        (1, 3, 11, 10),
        {
            "kernel_shape": [2, 3],
            "dilations": [3, 2],
            "strides": [2, 2],
            "pads": [1, 1, 1, 1],
            "ceil_mode": 1,
        },
    ),
}


def cases() -> Iterator[Case]:
    """Every shape for both pools; averages also with padding counted."""
    for name, (shape, attributes) in (POOL | DILATED).items():
        # All values are negative, so that a padding of 0 would be the maximum.
        yield case(name, "MaxPool", normal(*shape) - 5, **attributes)
    for name in ("2x2", "3x3-pad-stride-2", "same-upper"):
        shape, attributes = POOL[name]
        for opset in (7, 8, 12, 22):
            yield case(
                f"{name}-opset-{opset}", "MaxPool", normal(*shape), opset=opset, **attributes
            )

    for name, (shape, attributes) in (POOL | DILATED).items():
        opset = 19 if name in DILATED else 17
        for include in (0, 1):
            id = f"{name}-include-pad" if include else name
            values = attributes | {"count_include_pad": include}
            yield case(id, "AveragePool", normal(*shape) + 1, opset=opset, **values)
    for name in ("2x2", "3x3-pad", "3x3-pad-stride-2"):
        shape, attributes = POOL[name]
        for opset in (7, 10, 22):
            yield case(
                f"{name}-opset-{opset}", "AveragePool", normal(*shape), opset=opset, **attributes
            )

    # Rows that are wide enough for pools in plain order.
    for name, ((*sizes, width), attributes) in (POOL | DILATED).items():
        for i, more in enumerate((50, 61, 93)):
            x = normal(*sizes, width + more) - i
            yield case(f"{name}-wide-{i}", "MaxPool", x, **attributes)
            values = attributes | {"count_include_pad": i % 2}
            yield case(f"{name}-wide-{i}", "AveragePool", x, opset=19, **values)

    for op in ("GlobalAveragePool", "GlobalMaxPool"):
        for shape in ((1, 3, 7, 7), (2, 17, 5, 3), (1, 40, 1, 1), (1, 5, 9), (2, 3, 4, 5, 6)):
            yield case("x".join(map(str, shape)), op, normal(*shape) - 1)
