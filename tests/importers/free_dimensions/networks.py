"""Networks with free dimensions as PyTorch exports them: Shape and Gather compute sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Size = int | str
"""A size, or the name of a tensor that holds it."""

WIDTH = 16  # of tokens
HEADS = 4


class Builder:
    """An ONNX network under construction, with seeded weights."""

    def __init__(self) -> None:
        self._rng = np.random.default_rng(0)
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, Any] = {}
        self._count = 0

    def name(self) -> str:
        """A new name."""
        self._count += 1
        return f"t{self._count}"

    def constant(self, value: object, dtype: str = "int64") -> str:
        """A constant."""
        name = self.name()
        self._constants[name] = np.array(value, dtype)
        return name

    def weights(self, *shape: int) -> str:
        """Normal weights, whose products with as many inputs as they have keep their size."""
        depth = np.prod(shape[1:]) if len(shape) == 4 else shape[0]
        return self.constant(self._rng.standard_normal(shape) / np.sqrt(depth), "float32")

    def add(self, type: str, *inputs: str, **attributes: Any) -> str:
        """The first result of a node."""
        results = [self.name() for _ in range(attributes.pop("results", 1))]
        self._nodes.append(helper.make_node(type, inputs, results, **attributes))
        return results[0]

    def conv(
        self, x: str, c_in: int, c_out: int, kernel: int = 3, strides: Sequence[int] = (1, 1)
    ) -> str:
        """Convolution with bias and ReLU."""
        w, bias = self.weights(c_out, c_in, kernel, kernel), self.weights(c_out)
        pads = [kernel // 2] * 4
        return self.add("Relu", self.add("Conv", x, w, bias, pads=pads, strides=list(strides)))

    def linear(self, x: str, columns: int, width: int = WIDTH) -> str:
        """Product with weights, and a bias."""
        product = self.add("MatMul", x, self.weights(width, columns))
        return self.add("Add", product, self.weights(columns))

    def size(self, x: str, axis: int) -> str:
        """A size of `x` as a scalar."""
        return self.add("Gather", self.add("Shape", x), self.constant(axis))

    def shape(self, *sizes: Size) -> str:
        """A shape of numbers and scalars."""
        axis = self.constant([0])
        parts = (
            self.constant([size]) if isinstance(size, int) else self.add("Unsqueeze", size, axis)
            for size in sizes
        )
        return self.add("Concat", *parts, axis=0)

    def normalized(self, x: str) -> str:
        """Layer normalization, decomposed."""
        centered = self.add("Sub", x, self.add("ReduceMean", x, axes=[-1]))
        square = self.add("Pow", centered, self.constant(2, "float32"))
        variance = self.add("Add", self.add("ReduceMean", square, axes=[-1]), self._epsilon())
        scaled = self.add("Div", centered, self.add("Sqrt", variance))
        return self.add("Add", self.add("Mul", scaled, self.weights(WIDTH)), self.weights(WIDTH))

    def _epsilon(self) -> str:
        return self.constant(1e-5, "float32")

    def attention(self, x: str, batch: Size, length: Size) -> str:
        """A block of self-attention with its residual."""
        y = self.normalized(x)
        heads = self.shape(batch, length, HEADS, WIDTH // HEADS)
        q, k, v = (
            self.add("Transpose", self.add("Reshape", self.linear(y, WIDTH), heads), perm=perm)
            for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])
        )
        root = self.constant((WIDTH // HEADS) ** 0.5, "float32")
        scores = self.add("Softmax", self.add("Div", self.add("MatMul", q, k), root), axis=-1)
        y = self.add("Transpose", self.add("MatMul", scores, v), perm=[0, 2, 1, 3])
        y = self.add("Reshape", y, self.shape(batch, length, WIDTH))
        return self.add("Add", x, self.linear(y, WIDTH))

    def model(self, inputs: dict[str, Sequence[Size]], *outputs: str) -> onnx.ModelProto:
        """The network; free sizes of inputs have names."""
        values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()]
        results = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs]
        constants = [numpy_helper.from_array(data, n) for n, data in self._constants.items()]
        graph = helper.make_graph(self._nodes, "free", values, results, constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@dataclass(frozen=True)
class Network:
    """A network, the bounds of its first input, and sizes of the free dimensions to compare."""

    build: Callable[[], onnx.ModelProto]
    bounds: str
    points: Sequence[Sequence[int]]

    def shape(self, point: Sequence[int]) -> tuple[int, ...]:
        """The shape of the input at a point."""
        sizes = iter(point)
        return tuple(next(sizes) if ".." in n else int(n) for n in self.bounds.split(","))


def _columns(b: Builder) -> str:
    """The columns of a line of text as [n, WIDTH, w / 4]."""
    x = b.conv("x", 3, 6, strides=(2, 2))
    x = b.add("MaxPool", b.conv(x, 6, 8, strides=(2, 1)), kernel_shape=[2, 3], strides=[2, 2])
    return b.add("Squeeze", b.conv(x, 8, WIDTH, strides=(2, 1)), b.constant([2]))


def recurrent_recognizer() -> onnx.ModelProto:
    """A recognizer of text: convolutions, a bidirectional LSTM, class scores per column."""
    b, half = Builder(), WIDTH // 2
    x = b.add("Transpose", _columns(b), perm=[2, 0, 1])
    batch = b.size(x, 1)
    state = b.add("Expand", b.constant(0, "float32"), b.shape(2, batch, half))
    w, r = b.weights(2, 4 * half, WIDTH), b.weights(2, 4 * half, half)
    attributes = {"hidden_size": half, "direction": "bidirectional", "results": 3}
    y = b.add("LSTM", x, w, r, b.weights(2, 8 * half), "", state, state, **attributes)
    y = b.add("Transpose", y, perm=[0, 2, 1, 3])
    y = b.add("Reshape", y, b.shape(b.size(x, 0), batch, WIDTH))
    return b.model({"x": ("n", 3, 16, "w")}, b.add("Softmax", b.linear(y, 11), axis=2))


def attending_recognizer() -> onnx.ModelProto:
    """The same with attention."""
    b = Builder()
    x = b.add("Transpose", _columns(b), perm=[0, 2, 1])
    y = b.attention(x, b.size(x, 0), b.size(x, 1))
    return b.model({"x": ("n", 3, 16, "w")}, b.add("Softmax", b.linear(y, 11), axis=2))


def segmenter() -> onnx.ModelProto:
    """Convolutions down and up again, resized to the sizes of skip connections."""
    b = Builder()
    fine = b.conv("x", 3, 4, strides=(2, 2))
    middle = b.conv(fine, 4, 8, strides=(2, 2))
    y = b.conv(middle, 8, 8, strides=(2, 2))
    for skip, channels in ((middle, 8), (fine, 4), ("x", 3)):
        ends = b.constant([2]), b.constant([4]), b.constant([0])
        size = b.add("Slice", b.add("Shape", skip), *ends)
        start = b.add("Slice", b.add("Shape", y), b.constant([0]), b.constant([2]), ends[2])
        target = b.add("Concat", start, size, axis=0)
        y = b.add("Resize", y, "", "", target, mode="linear")
        y = b.conv(b.add("Concat", y, skip, axis=1), 8 + channels, 8)
    return b.model({"x": (1, 3, "h", "w")}, y)


def classifier() -> onnx.ModelProto:
    """Convolutions, channel shuffle, and a fully connected layer behind a flattened mean."""
    b = Builder()
    x = b.conv(b.conv("x", 3, 8, strides=(2, 2)), 8, 8, 1)
    batch, height, width = (b.size(x, axis) for axis in (0, 2, 3))
    x = b.add("Reshape", x, b.shape(batch, 2, 4, height, width))
    x = b.add("Transpose", x, perm=[0, 2, 1, 3, 4])
    x = b.add("Reshape", x, b.shape(batch, 8, height, width))
    x = b.add("GlobalAveragePool", b.conv(x, 8, 8))
    x = b.add("Reshape", x, b.shape(batch, -1))
    return b.model({"x": ("n", 3, "h", "w")}, b.linear(x, 5, width=8))


def vision_transformer() -> onnx.ModelProto:
    """Patches, a class token for each picture, attention."""
    b = Builder()
    w = b.weights(WIDTH, 3, 4, 4)
    x = b.add("Conv", "x", w, strides=[4, 4])
    batch = b.size(x, 0)
    x = b.add("Transpose", b.add("Reshape", x, b.shape(batch, WIDTH, -1)), perm=[0, 2, 1])
    token = b.add("Expand", b.weights(1, 1, WIDTH), b.shape(batch, 1, WIDTH))
    x = b.add("Add", b.add("Concat", token, x, axis=1), b.weights(1, 10, WIDTH))
    x = b.attention(x, batch, 10)
    first = b.add("Gather", b.normalized(x), b.constant(0), axis=1)
    return b.model({"x": ("n", 3, 12, 12)}, b.linear(first, 5))


def transformer() -> onnx.ModelProto:
    """Positions cut to the length, attention, the last token and the first half."""
    b = Builder()
    batch, length = b.size("x", 0), b.size("x", 1)
    zero, one, axis = b.constant([0]), b.constant([1]), b.constant([0])
    positions = b.weights(1, 40, WIDTH)
    end = b.add("Unsqueeze", length, axis)
    x = b.add("Add", "x", b.add("Slice", positions, zero, end, one))
    x = b.attention(x, batch, length)
    half = b.add("Unsqueeze", b.add("Div", length, b.constant(2)), axis)
    last = b.add("Gather", x, b.constant(-1), axis=1)
    return b.model({"x": ("n", "l", WIDTH)}, x, last, b.add("Slice", x, zero, half, one))


NETWORKS = {
    "recurrent": Network(
        recurrent_recognizer,
        "1..4,3,16,16..160",
        [(1, 16), (4, 160), (2, 77), (1, 33), (3, 130), (1, 160)],
    ),
    "attending": Network(
        attending_recognizer,
        "1..4,3,16,16..160",
        [(1, 16), (4, 160), (2, 77), (1, 33), (3, 130), (1, 160)],
    ),
    "segmenter": Network(
        segmenter,
        "1,3,17..70,33..90",
        [(17, 33), (70, 90), (64, 65), (33, 66), (49, 77), (32, 64)],
    ),
    "classifier": Network(
        classifier,
        "1..8,3,8..40/8,8..40/8",
        [(1, 8, 8), (8, 40, 40), (3, 16, 40), (5, 32, 24), (2, 40, 8), (7, 8, 16)],
    ),
    "vision": Network(vision_transformer, "1..8,3,12,12", [(1,), (8,), (2,), (3,), (5,), (7,)]),
    "transformer": Network(
        transformer,
        f"1..3,2..40,{WIDTH}",
        [(1, 2), (3, 40), (2, 17), (1, 33), (3, 5), (2, 40)],
    ),
}
