"""BatchNormalization, InstanceNormalization, LayerNormalization, LRN."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.ops.cases.case import Case, Const, case, normal


def cases() -> Iterator[Case]:
    """Every rank of vision networks, odd channel counts, all axes."""
    for shape in ((1, 5, 4, 6), (2, 17, 3, 3), (3, 7), (1, 6, 9), (1, 33, 1, 1)):
        c = shape[1]
        scale, bias, mean = (Const(normal(c, seed=key)) for key in ("scale", "bias", "mean"))
        variance = Const(np.abs(normal(c, seed="variance")) + 0.1)
        x, id = normal(*shape), "x".join(map(str, shape))
        yield case(id, "BatchNormalization", x, scale, bias, mean, variance)
        for opset in (7, 9, 14, 15):
            yield case(
                f"{id}-opset-{opset}",
                "BatchNormalization",
                *(x, scale, bias, mean, variance),
                opset=opset,
                epsilon=1e-3,
            )
    for shape in ((1, 5, 4, 6), (2, 17, 3, 5), (1, 6, 9)):
        scale, bias = Const(normal(shape[1], seed="scale")), Const(normal(shape[1], seed="bias"))
        x, id = normal(*shape) * 3 + 2, "x".join(map(str, shape))
        yield case(id, "InstanceNormalization", x, scale, bias)
        yield case(f"{id}-epsilon", "InstanceNormalization", x, scale, bias, epsilon=0.1)
    for axis in (-1, -2, 1, 2, 3):
        x = normal(2, 5, 4, 7) * 2 + 1
        scale = Const(normal(*x.shape[axis:], seed="scale"))
        bias = Const(normal(*x.shape[axis:], seed="bias"))
        yield case(f"axis{axis}", "LayerNormalization", x, scale, bias, axis=axis)
        yield case(f"axis{axis}-no-bias", "LayerNormalization", x, scale, axis=axis, epsilon=1e-3)
    scale, bias = Const(normal(33, seed="scale")), Const(normal(33, seed="bias"))
    yield case("2d", "LayerNormalization", normal(3, 33), scale, bias)
    one = (Const(normal(1, seed="scale")), Const(normal(1, seed="bias")))
    yield case("one-element", "LayerNormalization", normal(3, 1), *one)
    for size in (1, 3, 5):
        x = normal(1, 11, 4, 5) * 10
        yield case(f"size-{size}", "LRN", x, size=size)
        yield case(f"size-{size}-all", "LRN", x, size=size, alpha=0.02, beta=0.6, bias=2.0)
    yield case("window-over-channels", "LRN", normal(2, 3, 4, 4), size=7, alpha=0.5)
