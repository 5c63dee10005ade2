"""Small detectors with random seeded weights, as their exporters write them to ONNX."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Array = NDArray[Any]


class Graph:
    """An ONNX graph under construction."""

    def __init__(self, height: int, width: int, images: int = 1, seed: int = 7) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.shape = (images, 3, height, width)

    def constant(self, value: Any, name: str = "") -> str:
        name = name or f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def op(self, type: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        output = output or f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(type, list(inputs), [output], **attributes))
        return output

    def split(self, x: str, sizes: list[int], axis: int) -> list[str]:
        names = [f"t{len(self.nodes)}_{i}" for i in range(len(sizes))]
        sizes_name = self.constant(np.array(sizes, np.int64))
        self.nodes.append(helper.make_node("Split", [x, sizes_name], names, axis=axis))
        return names

    def conv(self, x: str, channels: int, out: int, bias: Array, stride: int = 1) -> str:
        """A convolution of `stride` x `stride` windows; `bias` is its results' mean."""
        scale = 2.0 / np.sqrt(channels * stride * stride)
        weights = self.rng.standard_normal((out, channels, stride, stride)) * scale
        return self.op(
            "Conv",
            x,
            self.constant(weights.astype(np.float32)),
            self.constant(np.broadcast_to(bias, (out,)).astype(np.float32)),
            strides=[stride, stride],
        )

    def model(self, **outputs: str) -> onnx.ModelProto:
        for name, tensor in outputs.items():
            self.op("Identity", tensor, output=name)
        return helper.make_model(
            helper.make_graph(
                self.nodes,
                "detector",
                [helper.make_tensor_value_info("images", TensorProto.FLOAT, self.shape)],
                [helper.make_empty_tensor_value_info(name) for name in outputs],
                self.constants,
            ),
            opset_imports=[helper.make_opsetid("", 17)],
            ir_version=8,
        )


def trunk(graph: Graph, strides: tuple[int, ...]) -> list[tuple[str, int]]:
    """Features of each stride, and their number of channels."""
    features = []
    for stride in strides:
        x = graph.conv("images", 3, 12, np.zeros(1), stride)
        features.append((graph.op("Mul", x, graph.op("Sigmoid", x)), 12))
    return features


def yolov8(
    classes: int = 5,
    size: tuple[int, int] = (96, 64),
    bias: float = -3.0,
    strides: tuple[int, ...] = (8, 16, 32),
    images: int = 1,
    seed: int = 7,
) -> onnx.ModelProto:
    """The head of Ultralytics' export: output0 is [n, 4 + classes, places]."""
    graph = Graph(*size, images, seed)
    levels, points, steps = [], [], []
    for stride, (x, channels) in zip(strides, trunk(graph, strides), strict=True):
        both = [
            graph.conv(x, channels, 64, np.zeros(1)),
            graph.conv(x, channels, classes, np.array(bias)),
        ]
        shape = graph.constant(np.array([images, 64 + classes, -1], np.int64))
        levels.append(graph.op("Reshape", graph.op("Concat", *both, axis=1), shape))
        h, w = size[0] // stride, size[1] // stride
        y, x_grid = np.mgrid[:h, :w] + 0.5
        points.append(np.stack([x_grid.ravel(), y.ravel()]))
        steps.append(np.full(h * w, stride))
    anchors = graph.constant(np.concatenate(points, 1)[None].astype(np.float32))
    step = graph.constant(np.concatenate(steps)[None, None].astype(np.float32))
    bins, raw = graph.split(graph.op("Concat", *levels, axis=2), [64, classes], 1)
    shape = graph.constant(np.array([images, 4, 16, -1], np.int64))
    weights = graph.op("Softmax", graph.op("Transpose", graph.op("Reshape", bins, shape),
                                           perm=[0, 2, 1, 3]), axis=1)  # fmt: skip
    kernel = graph.constant(np.arange(16, dtype=np.float32).reshape(1, 16, 1, 1))
    shape = graph.constant(np.array([images, 4, -1], np.int64))
    distances = graph.op("Reshape", graph.op("Conv", weights, kernel), shape)
    low, high = graph.split(distances, [2, 2], 1)
    first, last = graph.op("Sub", anchors, low), graph.op("Add", anchors, high)
    center = graph.op("Div", graph.op("Add", first, last), graph.constant(np.float32(2)))
    boxes = graph.op("Concat", center, graph.op("Sub", last, first), axis=1)
    scores = graph.op("Sigmoid", raw)
    return graph.model(output0=graph.op("Concat", graph.op("Mul", boxes, step), scores, axis=1))


def of_each_kind() -> Iterator[tuple[str, onnx.ModelProto, dict[str, Any]]]:
    """(head, network, options of the head): small networks whose heads decode boxes each in another
    way.
    """
    yield "yolov8", yolov8(size=(32, 16), strides=(4, 8), images=2), {"multi_label": True}
    for head in ("yolov3", "yolov5"):
        graph = Graph(32, 16)
        levels = enumerate(trunk(graph, (4, 8)))
        outputs = {f"out{i}": graph.conv(x, n, 18, np.zeros(1)) for i, (x, n) in levels}
        yield head, graph.model(**outputs), {"anchors": np.arange(4.0, 16.0), "score": 0.1}
