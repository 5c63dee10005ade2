"""A network of a kind that the zoo lacks, as exporters write it: a detector with decoded boxes."""

from __future__ import annotations

import numpy as np
import onnx

from trimtab.zoo.builder import INPUT, Net

_SIZE = 640
_WIDTHS = (16, 32, 64, 128, 256)
_CLASSES, _BINS = 80, 16


def yolov8n() -> onnx.ModelProto:
    """YOLOv8n (Ultralytics 2023) with seeded weights: 3.2 M parameters, 4.4 GMAC.

    data: float32[1, 3, 640, 640] -> output: float32[1, 84, 8400], boxes and scores.
    """
    net = Net("yolov8n", (1, 3, _SIZE, _SIZE))
    c1, c2, c3, c4, c5 = _WIDTHS
    x = _conv(net, _conv(net, INPUT, c1, 3, 2), c2, 3, 2)
    x = _conv(net, _c2f(net, x, c2, 1), c3, 3, 2)
    p3 = _c2f(net, x, c3, 2)
    p4 = _c2f(net, _conv(net, p3, c4, 3, 2), c4, 2)
    p5 = _pyramid(net, _c2f(net, _conv(net, p4, c5, 3, 2), c5, 1))
    n4 = _c2f(net, net.concat(net.upsample(p5, 2), p4), c4, 1, residual=False)
    n3 = _c2f(net, net.concat(net.upsample(n4, 2), p3), c3, 1, residual=False)
    m4 = _c2f(net, net.concat(_conv(net, n3, c3, 3, 2), n4), c4, 1, residual=False)
    m5 = _c2f(net, net.concat(_conv(net, m4, c4, 3, 2), p5), c5, 1, residual=False)
    net.output(_boxes(net, [n3, m4, m5]), "output")
    return net.model("")


def _conv(net: Net, x: str, out: int, kernel: int = 1, stride: int = 1) -> str:
    return net.act(net.conv(x, out, kernel, stride), "silu")


def _c2f(net: Net, x: str, out: int, repeats: int, *, residual: bool = True) -> str:
    """Two halves, of which one passes through bottlenecks whose results are all concatenated."""
    parts = [*net.halves(_conv(net, x, out))]
    for _ in range(repeats):
        y = _conv(net, _conv(net, parts[-1], out // 2, 3), out // 2, 3)
        parts.append(net.add(parts[-1], y) if residual else y)
    return _conv(net, net.concat(*parts), out)


def _pyramid(net: Net, x: str) -> str:
    """Spatial pyramid pooling (SPPF)."""
    parts = [_conv(net, x, net.channels(x) // 2)]
    for _ in range(3):
        parts.append(net.max_pool(parts[-1], 5, 1, 2))
    return _conv(net, net.concat(*parts), net.channels(x))


def _boxes(net: Net, levels: list[str]) -> str:
    """The decoupled heads, and the expectation of the distances to the edges of each box."""
    heads = []
    for level in levels:
        box = net.conv(_conv(net, _conv(net, level, 64, 3), 64, 3), 4 * _BINS)
        score = net.conv(_conv(net, _conv(net, level, _CLASSES, 3), _CLASSES, 3), _CLASSES)
        heads.append(net.reshape(net.concat(box, score), (1, 4 * _BINS + _CLASSES, -1)))
    anchors = sum((_SIZE // stride) ** 2 for stride in (8, 16, 32))
    every = net.op("Concat", heads, axis=2)
    box = _cut(net, every, 1, 0, 4 * _BINS)
    score = _cut(net, every, 1, 4 * _BINS, 4 * _BINS + _CLASSES)
    box = net.op("Transpose", [net.reshape(box, (1, 4, _BINS, anchors))], _BINS, perm=[0, 2, 1, 3])
    weights = net.constant("dfl.weight", np.arange(_BINS, dtype=np.float32).reshape(1, -1, 1, 1))
    box = net.op("Conv", [net.op("Softmax", [box], axis=1), weights], kernel_shape=[1, 1])
    box = net.reshape(box, (1, 4, anchors))
    centers = net.constant("anchors", _centers())
    low = net.op("Sub", [centers, _cut(net, box, 1, 0, 2)], 2)
    high = net.op("Add", [centers, _cut(net, box, 1, 2, 4)], 2)
    two = net.constant("two", np.array(2, np.float32))
    middle = net.op("Div", [net.add(low, high), two])
    both = net.op("Concat", [middle, net.op("Sub", [high, low])], axis=1)
    scaled = net.op("Mul", [both, net.constant("strides", _strides())])
    return net.op("Concat", [scaled, net.act(score, "sigmoid")], axis=1)


def _centers() -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """float32[1, 2, 8400]: the centers of the cells of all levels, in cells."""
    grids = [np.indices((_SIZE // s, _SIZE // s))[::-1].reshape(2, -1) for s in (8, 16, 32)]
    return (np.concatenate(grids, axis=1)[None] + 0.5).astype(np.float32)


def _strides() -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """float32[1, 8400]: pixels per cell."""
    return np.concatenate([np.full((1, (_SIZE // s) ** 2), s, np.float32) for s in (8, 16, 32)], 1)


def _cut(net: Net, x: str, axis: int, start: int, end: int) -> str:
    """A slice along one axis."""
    name = f"cut_{x}_{start}"
    bounds = {"starts": start, "ends": end, "axes": axis}
    operands = [net.constant(f"{name}.{k}", np.array([v], np.int64)) for k, v in bounds.items()]
    return net.op("Slice", [x, *operands])


BUILDERS = {"yolov8n": yolov8n}
"""The networks by name."""
