"""Small graphs that passes fuse, fold, move or remove, and some that they must not change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.ops.cases.case import Array, Case, Const, Graph, floats, ints, normal

ACTIVATIONS = ("Relu", "Clip", "LeakyRelu", "Sigmoid", "Tanh", "HardSwish", "HardSigmoid", "Elu")
X = normal(1, 8, 9, 10)
NEAREST: dict[str, Any] = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}


def _conv(
    g: Graph, x: Array | str, channels: int, out: int, kernel: int = 3, *, group: int = 1
) -> str:
    shape = (out, channels // group, kernel, kernel)
    weight, bias = Const(normal(*shape, seed=f"{len(g.nodes)}") / kernel), Const(normal(out))
    return g.node("Conv", x, weight, bias, pads=[kernel // 2] * 4, group=group)


def _batch_norm(g: Graph, x: Array | str, channels: int) -> str:
    scale, bias, mean, deviation = (normal(channels, seed=k) for k in ("s", "b", "m", "v"))
    constants = (Const(v) for v in (scale, bias, mean, np.abs(deviation) + 0.5))
    return g.node("BatchNormalization", x, *constants)


def _scalar(value: float) -> Const:
    return Const(np.array(value, np.float32))


def _activation(g: Graph, x: str, op: str) -> str:
    if op == "Clip":
        return g.node("Clip", x, _scalar(0), _scalar(6))
    return g.node(op, x)


def _fused() -> Iterator[Case]:
    for op in ACTIVATIONS:
        for group in (1, 8):
            g = Graph()
            _activation(g, _batch_norm(g, _conv(g, X, 8, 8, group=group), 8), op)
            yield g.case(f"conv-group{group}-bn-{op}")
        g = Graph()
        left = _conv(g, X, 8, 8)
        _activation(g, g.node("Add", left, _conv(g, left, 8, 8)), op)
        yield g.case(f"conv-residual-{op}")
        g = Graph()
        product = g.node("Gemm", normal(3, 7), Const(normal(7, 5)), Const(normal(5)))
        _activation(g, product, op)
        yield g.case(f"gemm-{op}")
        g = Graph()
        _activation(g, g.node("Add", normal(2, 3, 4, 4), normal(3, 1, 1)), op)
        yield g.case(f"add-{op}")
    g = Graph()
    g.node("PRelu", _conv(g, X, 8, 6), Const(normal(6, 1, 1)))
    yield g.case("conv-prelu")
    g = Graph()
    g.node("Relu", g.node("Clip", _conv(g, X, 8, 6), _scalar(-1), _scalar(0.5)))
    yield g.case("conv-clip-relu")
    g = Graph()
    g.node("Relu", g.node("Sigmoid", _conv(g, X, 8, 6)))
    yield g.case("conv-two-activations")
    g = Graph()
    transposed = g.node("ConvTranspose", X, Const(normal(8, 5, 2, 2)), strides=[2, 2])
    g.node("Relu", _batch_norm(g, transposed, 5))
    yield g.case("conv-transpose-bn-relu")
    g = Graph()
    product = g.node("MatMul", normal(2, 6, 7), Const(normal(7, 5)))
    g.node("Relu", g.node("Add", product, Const(normal(5))))
    yield g.case("mat-mul-bias-relu")
    for name, shape, order in (
        ("matrix", (3, 19, 21), (0, 2, 1)),
        ("heads", (2, 19, 3, 21), (0, 2, 3, 1)),
        ("rows", (2, 3, 21, 19), (1, 0, 2, 3)),
    ):
        g = Graph()
        right = g.node("Transpose", normal(*shape), perm=order)
        left_shape = (*(shape[i] for i in order[:-2]), 35, 21)
        g.node("MatMul", normal(*left_shape, seed="left"), right)
        yield g.case(f"mat-mul-transposed-{name}")
    g = Graph()
    g.node("Mul", g.node("Sub", _conv(g, X, 8, 6), Const(normal(6, 1, 1))), floats(0.5))
    yield g.case("conv-affine")
    g = Graph()
    scaled = g.node("Div", g.node("Sub", X, Const(normal(1, 8, 1, 1))), floats(3.0))
    _conv(g, scaled, 8, 4)
    yield g.case("affine-conv")


def _decomposed() -> Iterator[Case]:
    def silu(g: Graph, x: str) -> str:
        return g.node("Mul", x, g.node("Sigmoid", x))

    def mish(g: Graph, x: str) -> str:
        return g.node("Mul", g.node("Tanh", g.node("Softplus", x)), x)

    def hard_swish(g: Graph, x: str) -> str:
        gate = g.node("Clip", g.node("Add", x, _scalar(3)), _scalar(0), _scalar(6))
        return g.node("Div", g.node("Mul", x, gate), _scalar(6))

    def hard_swish_by_gate(g: Graph, x: str) -> str:
        return g.node("Mul", x, g.node("HardSigmoid", x, alpha=1 / 6, beta=0.5))

    def gelu(g: Graph, x: str) -> str:
        erf = g.node("Erf", g.node("Div", x, _scalar(2**0.5)))
        return g.node("Mul", g.node("Mul", x, g.node("Add", erf, _scalar(1))), _scalar(0.5))

    functions: tuple[Callable[[Graph, str], str], ...] = (
        silu,
        mish,
        hard_swish,
        hard_swish_by_gate,
        gelu,
    )
    for function in functions:
        g = Graph()
        function(g, _conv(g, X, 8, 6))
        yield g.case(f"decomposed-{function.__name__}")
        g = Graph()
        x = g.value(normal(2, 7))
        function(g, x)
        yield g.case(f"decomposed-{function.__name__}-alone")

    g = Graph()
    x = g.value(normal(2, 5, 12))
    centered = g.node("Sub", x, g.node("ReduceMean", x, axes=[-1]))
    variance = g.node("ReduceMean", g.node("Pow", centered, _scalar(2)), axes=[-1])
    root = g.node("Sqrt", g.node("Add", variance, _scalar(1e-5)))
    scaled = g.node("Mul", g.node("Div", centered, root), Const(normal(12)))
    g.node("Add", scaled, Const(normal(12, seed="bias")))
    yield g.case("decomposed-layer-norm")

    # Halves with and without a partial vector of channels.
    for groups, channels in ((2, 8), (4, 8), (2, 18), (2, 58)):
        g = Graph()
        shape = ints(1, groups, channels // groups, 9, 10)
        split = g.node("Reshape", _conv(g, X, 8, channels), shape)
        moved = g.node("Transpose", split, perm=[0, 2, 1, 3, 4])
        joined = g.node("Reshape", moved, ints(1, channels, 9, 10))
        _conv(g, joined, channels, 4)
        yield g.case(f"channel-shuffle-{groups}-of-{channels}")

    g = Graph()
    x = _conv(g, X, 8, 8)
    squeezed = g.node("Relu", _conv(g, g.node("GlobalAveragePool", x), 8, 2, 1))
    g.node("Mul", x, g.node("Sigmoid", _conv(g, squeezed, 2, 8, 1)))
    yield g.case("squeeze-and-excite")


def _kept_apart() -> Iterator[Case]:
    g = Graph()
    x = _conv(g, X, 8, 8)
    relu = g.node("Relu", x)
    yield g.case("output-before-activation", x, relu)
    g = Graph()
    x = _conv(g, X, 8, 8)
    total = g.node("Add", g.node("Relu", x), g.node("Sigmoid", x))
    yield g.case("two-consumers", total)
    g = Graph()
    x = _conv(g, X, 8, 8)
    g.node("Relu", g.node("Add", x, x))
    yield g.case("sum-with-itself")
    g = Graph()
    x = _conv(g, X, 8, 8)
    both = g.node("Add", x, _batch_norm(g, x, 8))
    yield g.case("bn-beside-its-conv", both)
    g = Graph()
    first = g.value(X)
    g.node("Add", _conv(g, first, 8, 8), first)
    yield g.case("residual-is-the-input")
    g = Graph()
    g.node("Add", _conv(g, X, 8, 8), normal(8, 1, 1))
    yield g.case("residual-broadcast")
    g = Graph()
    g.node("Add", normal(2, 8, 9, 10), _conv(g, X, 8, 8))
    yield g.case("residual-broadcasts-the-conv")
    g = Graph()
    _conv(g, _batch_norm(g, X, 8), 8, 4)
    yield g.case("bn-before-padded-conv")
    g = Graph()
    g.node("Relu", _batch_norm(g, g.node("Concat", X, _conv(g, X, 8, 4), axis=1), 12))
    yield g.case("bn-after-concat")


def _moved() -> Iterator[Case]:
    for name, value in (("zero", 0.0), ("value", 1.5)):
        pads = ints(0, 0, 1, 2, 0, 0, 2, 1)
        g = Graph()
        g.node("Conv", g.node("Pad", X, pads, _scalar(value)), Const(normal(4, 8, 3, 3)))
        yield g.case(f"pad-{name}-conv")
        for op in ("MaxPool", "AveragePool"):
            g = Graph()
            padded = g.node("Pad", X, pads, _scalar(value))
            g.node(op, padded, kernel_shape=[3, 3], strides=[2, 2])
            yield g.case(f"pad-{name}-{op}")
    g = Graph()
    x = g.node("Transpose", normal(1, 9, 10, 8), perm=[0, 3, 1, 2])
    x = g.node("Relu", _conv(g, x, 8, 6))
    g.node("Transpose", x, perm=[0, 2, 3, 1])
    yield g.case("nhwc-model")
    g = Graph()
    x = g.node("Transpose", g.node("Transpose", X, perm=[0, 2, 3, 1]), perm=[0, 3, 1, 2])
    g.node("Relu", x)
    yield g.case("transposes-cancel")
    g = Graph()
    x = g.node("Transpose", _conv(g, X, 8, 6), perm=[0, 2, 3, 1])
    scores = g.node("Softmax", g.node("Reshape", x, ints(1, -1, 2)), axis=2)
    yield g.case("detection-head", scores)
    g = Graph()
    pixels = g.value(normal(1, 3, 8, 8))
    parts = [
        g.node("Slice", pixels, ints(i, j), ints(9, 9), ints(2, 3), ints(2, 2))
        for j in (0, 1)
        for i in (0, 1)
    ]
    _conv(g, g.node("Concat", *parts, axis=1), 12, 8)
    yield g.case("focus")
    g = Graph()
    low = _conv(g, X, 8, 4)
    high = g.node("Resize", low, None, floats(1, 1, 2, 2), **NEAREST)
    _conv(g, g.node("Concat", high, normal(1, 4, 18, 20), axis=1), 8, 3)
    yield g.case("upsample-concat")
    g = Graph()
    half = g.node("Split", X, outputs=2, axis=1)
    g.node("Concat", half, _conv(g, f"{half}.1", 4, 4), axis=1)
    yield g.case("split-concat")
    g = Graph()
    pooled = g.node("MaxPool", _conv(g, X, 8, 6), kernel_shape=[2, 2], strides=[2, 2])
    flat = g.node("Flatten", pooled)
    g.node("Softmax", g.node("Gemm", flat, Const(normal(6 * 4 * 5, 11))), axis=1)
    yield g.case("flatten-gemm-softmax")
    g = Graph()
    mean = g.node("ReduceMean", _conv(g, X, 8, 6), axes=[2, 3], keepdims=0)
    g.node("Gemm", mean, Const(normal(5, 6)), Const(normal(5)), transB=1)
    yield g.case("mean-gemm")
    g = Graph()
    g.node("Squeeze", g.node("GlobalAveragePool", _conv(g, X, 8, 6)), ints(2, 3))
    yield g.case("pool-squeeze")


def _removed() -> Iterator[Case]:
    g = Graph()
    x = g.node("Identity", g.node("Dropout", g.node("Identity", X)))
    x = g.node("Add", x, _scalar(0))
    x = g.node("Mul", x, floats(1))
    x = g.node("Reshape", x, ints(1, 8, 9, 10))
    x = g.node("Cast", g.node("Transpose", x, perm=[0, 1, 2, 3]), to=1)
    g.node("Concat", g.node("Slice", x, ints(0), ints(9), ints(1)), axis=1)
    yield g.case("nothing-but-no-ops")
    g = Graph()
    g.node("Sigmoid", X)
    _conv(g, "x0", 8, 6)
    yield g.case("dead-branch")


def _folded() -> Iterator[Case]:
    g = Graph()
    x = g.value(X)
    batch = g.node("Gather", g.node("Shape", x), Const(np.array(0)), axis=0)
    shape = g.node("Concat", g.node("Unsqueeze", batch, ints(0)), ints(-1), axis=0)
    y = g.node("Reshape", x, shape)
    yield g.case("shape-gather-concat-reshape", y)
    g = Graph()
    x = g.value(normal(1, 3, 5, 6))
    spatial = g.node("Slice", g.node("Shape", x), ints(2), ints(4), ints(0))
    doubled = g.node("Cast", g.node("Mul", g.node("Cast", spatial, to=1), floats(2)), to=7)
    sizes = g.node("Concat", g.node("Shape", x, start=0, end=2), doubled, axis=0)
    y = g.node("Resize", x, None, None, sizes)
    yield g.case("resize-to-computed-size", y)
    g = Graph()
    zeros = g.node("ConstantOfShape", g.node("Shape", g.value(X)))
    g.node("Max", "x0", zeros)
    yield g.case("constant-of-shape")
    g = Graph()
    half = g.node("Constant", value_float=0.5)
    pair = g.node("Constant", value_floats=[1.0, 2.0])
    shape = g.node("Constant", value_ints=[2, 5])
    g.node("Mul", g.node("Reshape", normal(10), shape), g.node("Unsqueeze", pair, ints(1)))
    g.node("Add", "n4", half)
    yield g.case("constants-of-all-kinds")
    g = Graph()
    weight = g.node("Mul", Const(normal(4, 8, 3, 3)), floats(0.5))
    for _ in range(2):
        weight = g.node("Transpose", weight, perm=[1, 0, 2, 3])
    g.node("Conv", X, weight)
    yield g.case("weights-by-arithmetic")
    g = Graph()
    g.node("Add", g.node("Range", *(Const(np.array(v, np.float32)) for v in (0, 5, 1))), normal(5))
    yield g.case("range")


def _wired() -> Iterator[Case]:
    g = Graph()
    x = g.value(X)
    yield g.case("two-outputs-of-one-input", g.node("Relu", x), g.node("Neg", x))
    g = Graph()
    x = g.node("Relu", normal(2, 3))
    aliases = [g.node("Identity", value) for value in ("x0", x, x)]
    constant = g.node("Add", ints(1, 2), ints(3, 4))
    yield g.case("outputs-that-are-nothing-new", *aliases, constant)
    g = Graph()
    weights = Const(normal(3, 4))
    product = g.node("MatMul", normal(2, 3), weights)
    yield g.case("an-output-that-is-the-weights", product, g.node("Identity", "c0"))
    g = Graph()
    x = g.value(normal(2, 3))
    yield g.case("input-used-twice", g.node("Sub", x, g.node("Mul", x, x)))
    g = Graph()
    y = g.node("Add", normal(1, 2, 3, 3), normal(1, 2, 3, 3, seed="b"))
    yield g.case("an-output-is-used-inside", y, _conv(g, y, 2, 2))
    g = Graph()
    best = g.node("ArgMax", X, axis=1)
    g.node("Mul", g.node("Cast", best, to=1), normal(1, 1, 9, 10))
    yield g.case("argmax-cast")
    g = Graph()
    x = g.node("Conv", normal(1, 4, 12), Const(normal(6, 4, 3)), pads=[1, 1])
    x = g.node("MaxPool", g.node("Relu", x), kernel_shape=[2], strides=[2])
    g.node("GlobalAveragePool", x)
    yield g.case("1d-network")


def cases() -> Iterator[Case]:
    """All small graphs."""
    for family in (_fused, _decomposed, _kept_apart, _moved, _removed, _folded, _wired):
        yield from family()
