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
    points: int = 0,
    factors: int = 0,
) -> onnx.ModelProto:
    """The head of Ultralytics' export: output0 is [n, 4 + classes, places]. With `points` or
    `factors` of masks it has these values behind the classes, and the raw tensors are outputs, too:
    boxes0, classes0 and more0 of the first level and so on, `more` of all, and `prototypes`.
    """
    graph = Graph(*size, images, seed)
    levels, corners, steps = [], [], []
    more: list[str] = []
    outputs: dict[str, str] = {}
    for stride, (x, channels) in zip(strides, trunk(graph, strides), strict=True):
        both = [
            graph.conv(x, channels, 64, np.zeros(1)),
            graph.conv(x, channels, classes, np.array(bias)),
        ]
        shape = graph.constant(np.array([images, 64 + classes, -1], np.int64))
        levels.append(graph.op("Reshape", graph.op("Concat", *both, axis=1), shape))
        if values := 3 * points + factors:
            raw = graph.conv(x, channels, values, np.zeros(1))
            outputs |= zip((f"{part}{len(more)}" for part in ("boxes", "classes", "more")),
                           (*both, raw), strict=True)  # fmt: skip
            shape = graph.constant(np.array([images, values, -1], np.int64))
            more.append(graph.op("Reshape", raw, shape))
        h, w = size[0] // stride, size[1] // stride
        y, x_grid = np.mgrid[:h, :w] + 0.5
        corners.append(np.stack([x_grid.ravel(), y.ravel()]))
        steps.append(np.full(h * w, stride))
    anchors = graph.constant(np.concatenate(corners, 1)[None].astype(np.float32))
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
    rows = [graph.op("Mul", boxes, step), graph.op("Sigmoid", raw)]
    if more:
        outputs["more"] = graph.op("Concat", *more, axis=2)
        rows.append(_keypoints(graph, outputs["more"], points, anchors, step) if points
                    else outputs["more"])  # fmt: skip
    if factors:
        outputs["prototypes"] = graph.conv("images", 3, factors, np.zeros(1), 4)
    return graph.model(output0=graph.op("Concat", *rows, axis=1), **outputs)


def _keypoints(graph: Graph, raw: str, count: int, anchors: str, step: str) -> str:
    """Keypoints as Ultralytics decodes them."""
    shape = graph.constant(np.array([graph.shape[0], count, 3, -1], np.int64))
    places, logits = graph.split(graph.op("Reshape", raw, shape), [2, 1], 2)
    corners = graph.op("Sub", anchors, graph.constant(np.float32(0.5)))
    places = graph.op("Mul", places, graph.constant(np.float32(2)))
    places = graph.op("Mul", graph.op("Add", places, corners), step)
    shape = graph.constant(np.array([graph.shape[0], 3 * count, -1], np.int64))
    joined = graph.op("Concat", places, graph.op("Sigmoid", logits), axis=2)
    return graph.op("Reshape", joined, shape)


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
