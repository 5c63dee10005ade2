"""Concat and split of channels: sub-tensors that alias a larger tensor, or need copies."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.ops.cases.case import Array, Case, Const, Graph, floats, ints, normal

X = normal(2, 20, 8, 10)


def _conv(g: Graph, x: Array | str, c_in: int, out: int, kernel: int = 1, *, group: int = 1) -> str:
    weight = Const(normal(out, c_in // group, kernel, kernel, seed=f"{len(g.nodes)}") / kernel)
    return g.node("Conv", x, weight, Const(normal(out)), pads=[kernel // 2] * 4, group=group)


def _pool(g: Graph, x: str, op: str) -> str:
    return g.node(op, x, kernel_shape=[3, 3], pads=[1, 1, 1, 1])


# Operators that may read or write a sub-tensor: 20 channels in, 20 out, the same pixels.
Step = Callable[[Graph, str], str]
STEPS: dict[str, Step] = {
    "conv-1x1": lambda g, x: _conv(g, x, 20, 20),
    "conv-2x2": lambda g, x: g.node("Conv", x, Const(normal(20, 20, 2, 2) / 9), pads=[0, 0, 1, 1]),
    "conv-3x3": lambda g, x: _conv(g, x, 20, 20, 3),
    "conv-groups": lambda g, x: _conv(g, x, 20, 20, 3, group=4),
    "depthwise": lambda g, x: _conv(g, x, 20, 20, 3, group=20),
    "depthwise-5x5": lambda g, x: _conv(g, x, 20, 20, 5, group=20),
    "sigmoid": lambda g, x: g.node("Sigmoid", _conv(g, x, 20, 20)),
    "sigmoid-3x3": lambda g, x: g.node("Sigmoid", _conv(g, x, 20, 20, 3)),
    "sigmoid-depthwise": lambda g, x: g.node("Sigmoid", _conv(g, x, 20, 20, 3, group=20)),
    "residual": lambda g, x: g.node("Add", _conv(g, x, 20, 20), x),
    "residual-3x3": lambda g, x: g.node("Relu", g.node("Add", _conv(g, x, 20, 20, 3), x)),
    "residual-depthwise": lambda g, x: g.node("Add", x, _conv(g, x, 20, 20, 3, group=20)),
    "deconvolution": lambda g, x: _grown(g, _halved(g, x)),
    "deconvolution-first": lambda g, x: _halved(g, _grown(g, x)),
    "max-pool": lambda g, x: _pool(g, x, "MaxPool"),
    "average-pool": lambda g, x: _pool(g, x, "AveragePool"),
    "resize": lambda g, x: _resized(g, _halved(g, x)),
    "resize-first": lambda g, x: _halved(g, _resized(g, x)),
    "resize-linear": lambda g, x: _resized(g, _halved(g, x), "linear"),
    "resize-linear-first": lambda g, x: _halved(g, _resized(g, x, "linear")),
    "shuffle": lambda g, x: _shuffled(g, x, 4),
    "shuffle-halves": lambda g, x: _shuffled(g, x, 2),
    "product": lambda g, x: g.node("Mul", x, Const(normal(1, 20, 1, 1) + 2)),
    "prelu": lambda g, x: g.node("PRelu", x, Const(normal(20, 1, 1))),
    "gate": lambda g, x: g.node("Mul", x, g.node("GlobalAveragePool", x)),
    "gate-by-maximum": lambda g, x: g.node("Add", g.node("GlobalMaxPool", x), x),
    "hard-swish": lambda g, x: g.node("HardSwish", x),
    "norm": lambda g, x: g.node("LRN", x, size=3),
}


def _halved(g: Graph, x: str) -> str:
    return g.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])


def _grown(g: Graph, x: str) -> str:
    return g.node("ConvTranspose", x, Const(normal(20, 20, 2, 2)), strides=[2, 2])


def _resized(g: Graph, x: str, mode: str = "nearest") -> str:
    return g.node("Resize", x, None, floats(1, 1, 2, 2), mode=mode)


def _shuffled(g: Graph, x: str, groups: int, channels: int = 20) -> str:
    split = g.node("Reshape", x, ints(2, groups, channels // groups, 8, 10))
    moved = g.node("Transpose", split, perm=[0, 2, 1, 3, 4])
    return g.node("Reshape", moved, ints(2, channels, 8, 10))


def _joined() -> Iterator[Case]:
    for name, step in STEPS.items():
        g = Graph()
        stem = _conv(g, X, 20, 20)
        parts = [_conv(g, stem, 20, 3), step(g, stem), _conv(g, stem, 20, 17, 3)]
        _conv(g, g.node("Concat", *parts, axis=1), 40, 4)
        yield g.case(f"join-{name}")


def _cut() -> Iterator[Case]:
    for name, step in STEPS.items():
        g = Graph()
        x = g.node("Relu", _conv(g, X, 20, 43, 3))
        part = g.node("Slice", x, ints(7), ints(27), ints(1))
        _conv(g, step(g, part), 20, 4)
        yield g.case(f"cut-{name}")
    g = Graph()
    first = g.node("Split", _conv(g, X, 20, 40), ints(20, 17, 3), outputs=3, axis=1)
    sizes = ((first, 20), (f"{first}.1", 17), (f"{first}.2", 3))
    yield g.case("cut-in-three", *(_conv(g, x, channels, 4, 3) for x, channels in sizes))
    g = Graph()
    x = _conv(g, X, 20, 24)
    outer = g.node("Slice", x, ints(-22), ints(-2), ints(1))
    inner = g.node("Slice", outer, ints(1), ints(18), ints(1))
    yield g.case("cut-twice", _conv(g, outer, 20, 5), _conv(g, inner, 17, 5))
    g = Graph()
    x = _conv(g, X, 20, 40)
    steps = g.node("Slice", x, ints(0), ints(40), ints(1), ints(2))
    yield g.case("cut-by-steps", _conv(g, steps, 20, 5))


def _both() -> Iterator[Case]:
    g = Graph()
    a, b, c = (_conv(g, X, 20, n, k) for n, k in ((5, 1), (18, 3), (4, 1)))
    inner = g.node("Concat", a, b, axis=1)
    outer = g.node("Concat", c, inner, axis=1)
    yield g.case("joined-twice", _conv(g, outer, 27, 6), _conv(g, inner, 23, 6, 3))
    g = Graph()
    a = _conv(g, X, 20, 5)
    both = g.node("Concat", a, _conv(g, a, 5, 5), a, axis=1)
    yield g.case("a-part-used-twice", _conv(g, both, 15, 6))
    g = Graph()
    a = _conv(g, X, 20, 5)
    yield g.case("a-part-leaves", g.node("Concat", a, _conv(g, a, 5, 5), axis=1), a)
    g = Graph()
    both = g.node("Concat", _conv(g, X, 20, 5), _conv(g, "x0", 20, 7), axis=1)
    yield g.case("the-whole-leaves", both, _conv(g, both, 12, 3))
    g = Graph()
    x = g.value(X)
    joined = g.node("Concat", x, _conv(g, x, 20, 5), axis=1)
    yield g.case("an-input-is-joined", _conv(g, joined, 25, 3))
    g = Graph()
    layers = [_conv(g, X, 20, 6)]
    for _ in range(4):
        joined = layers[0] if len(layers) == 1 else g.node("Concat", *layers, axis=1)
        layers.append(_conv(g, joined, 6 * len(layers), 6, 3))
    yield g.case("dense-block", g.node("Concat", *layers, axis=1))
    g = Graph()
    skip = g.node("Relu", _conv(g, X, 20, 8, 3))
    deep = _conv(g, g.node("MaxPool", skip, kernel_shape=[2, 2], strides=[2, 2]), 8, 16, 3)
    grown = g.node("ConvTranspose", deep, Const(normal(16, 8, 2, 2)), strides=[2, 2])
    yield g.case("skip", _conv(g, g.node("Concat", grown, skip, axis=1), 16, 3, 3))
    for channels in (20, 58):  # halves of 10 and of 29 channels
        g = Graph()
        half = channels // 2
        x = _conv(g, X, 20, channels)
        for _ in range(3):
            first = g.node("Split", x, outputs=2, axis=1)
            branch = _conv(g, _conv(g, f"{first}.1", half, half), half, half, 3, group=half)
            x = _shuffled(g, g.node("Concat", first, branch, axis=1), 2, channels)
        yield g.case(f"shuffle-units-{channels}", _conv(g, x, channels, 3))
    g = Graph()
    first = g.node("Split", _conv(g, X, 20, 12), outputs=2, axis=1)
    parts = [first, f"{first}.1"]
    for _ in range(2):
        parts.append(g.node("Add", parts[-1], _conv(g, parts[-1], 6, 6, 3)))
    yield g.case("split-and-all-concatenated", _conv(g, g.node("Concat", *parts, axis=1), 24, 7))
    g = Graph()
    parts = [_conv(g, X if i == 0 else "x0", 20, 2) for i in range(20)]
    yield g.case("many-parts", _conv(g, g.node("Concat", *parts, axis=1), 40, 3))


def cases() -> Iterator[Case]:
    """Every operator that may read or write a sub-tensor, and combinations of sub-tensors."""
    yield from _joined()
    yield from _cut()
    yield from _both()
