"""Draws handwritten-looking digits, like those of MNIST, and the network LeNet to learn them.

`python examples/digits/train.py` trains the network.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from onnx import ModelProto

SIZE = 28  # pixels

_CIRCLE = [(np.cos(a), np.sin(a)) for a in np.linspace(0, 2 * np.pi, 13)]


def _oval(x: float, y: float, width: float, height: float) -> list[tuple[float, float]]:
    return [(x + width * u, y + height * v) for u, v in _CIRCLE]


# The strokes of each digit, as points in the square from -1 to 1; y points down.
_STROKES: list[list[list[tuple[float, float]]]] = [
    [_oval(0, 0, 0.55, 0.9)],
    [[(-0.3, -0.6), (0.05, -0.9), (0.05, 0.9)]],
    [[(-0.5, -0.5), (-0.2, -0.9), (0.3, -0.85), (0.5, -0.4), (0.2, 0.1), (-0.5, 0.9), (0.6, 0.9)]],
    [
        [(-0.5, -0.8), (0.1, -0.9), (0.45, -0.5), (0.1, -0.05), (-0.15, -0.05)],
        [(0.1, -0.05), (0.55, 0.4), (0.1, 0.9), (-0.5, 0.75)],
    ],
    [[(0.2, 0.9), (0.2, -0.9), (-0.6, 0.3), (0.6, 0.3)]],
    [
        [(0.5, -0.9), (-0.4, -0.9), (-0.45, -0.1), (0.1, -0.2), (0.5, 0.3), (0.1, 0.9)],
        [(0.1, 0.9), (-0.5, 0.75)],
    ],
    [[(0.4, -0.9), (-0.2, -0.4), (-0.5, 0.3)], _oval(0, 0.4, 0.5, 0.5)],
    [[(-0.55, -0.9), (0.55, -0.9), (0.0, 0.9)]],
    [_oval(0, -0.45, 0.42, 0.45), _oval(0, 0.45, 0.52, 0.47)],
    [_oval(0, -0.4, 0.5, 0.5), [(0.5, -0.4), (0.4, 0.3), (0.1, 0.9)]],
]


def draw(count: int, seed: int) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """`count` digits [count, 1, 28, 28] from 0 to 1, turned, sheared, scaled, moved and noisy, and
    their labels.
    """
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 10, count).astype(np.int32)
    axis = (np.arange(SIZE) - (SIZE - 1) / 2) / (SIZE / 2)
    pixels = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    images = np.zeros((count, SIZE * SIZE))
    for image, label in zip(images, labels, strict=True):
        angle, shear = rng.normal(0, 0.15), rng.normal(0, 0.15)
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        matrix = turn @ np.array([[1, shear], [0, 1]]) @ np.diag(rng.uniform(0.55, 0.8, 2))
        shift, width = rng.normal(0, 0.06, 2), rng.uniform(0.05, 0.1)
        for stroke in _STROKES[label]:
            points = np.array(stroke) + rng.normal(0, 0.04, (len(stroke), 2))
            points = points @ matrix.T + shift
            for begin, end in itertools.pairwise(points):
                along = end - begin
                share = (pixels - begin) @ along / max(along @ along, 1e-9)
                nearest = begin + np.clip(share, 0, 1)[:, None] * along
                distance = np.hypot(*(pixels - nearest).T)
                np.maximum(image, np.clip((width - distance) * 14 + 1, 0, 1), out=image)
    images += rng.normal(0, 0.08, images.shape)
    return np.clip(images, 0, 1).reshape(count, 1, SIZE, SIZE).astype(np.float32), labels


def weights(seed: int) -> dict[str, NDArray[np.float32]]:
    """Random weights of LeNet by name, and biases of 0."""
    rng = np.random.default_rng(seed)
    shapes = {"conv1": (20, 1, 5, 5), "conv2": (50, 20, 5, 5), "ip1": (500, 800), "ip2": (10, 500)}
    values = {}
    for layer, shape in shapes.items():
        bound = np.sqrt(3 / np.prod(shape[1:]))
        values[f"{layer}.weight"] = rng.uniform(-bound, bound, shape).astype(np.float32)
        values[f"{layer}.bias"] = np.zeros(shape[0], np.float32)
    return values


def lenet(batch: int, values: Mapping[str, NDArray[np.float32]]) -> ModelProto:
    """LeNet as in Caffe's examples, as an ONNX model: data [batch, 1, 28, 28] -> ip2, logits."""
    from onnx import TensorProto, helper, numpy_helper

    pool = {"kernel_shape": (2, 2), "strides": (2, 2)}
    layers = [
        ("Conv", "data", "conv1", {}),
        ("MaxPool", "conv1", "pool1", pool),
        ("Conv", "pool1", "conv2", {}),
        ("MaxPool", "conv2", "pool2", pool),
        ("Flatten", "pool2", "flat", {}),
        ("Gemm", "flat", "ip1", {"transB": 1}),
        ("Relu", "ip1", "relu1", {}),
        ("Gemm", "relu1", "ip2", {"transB": 1}),
    ]
    nodes = []
    for op, x, y, attributes in layers:
        own = [name for name in (f"{y}.weight", f"{y}.bias") if name in values]
        nodes.append(helper.make_node(op, [x, *own], [y], y, **attributes))
    graph = helper.make_graph(
        nodes,
        "lenet",
        [helper.make_tensor_value_info("data", TensorProto.FLOAT, (batch, 1, SIZE, SIZE))],
        [helper.make_tensor_value_info("ip2", TensorProto.FLOAT, (batch, 10))],
        [numpy_helper.from_array(value, name) for name, value in values.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
