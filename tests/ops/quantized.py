"""Models of quantized operators in ONNX's forms, and their results in onnxruntime."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import helper, numpy_helper

Array = NDArray[Any]

MICROSOFT = "com.microsoft"


@dataclass
class QuantizedGraph:
    """A model under construction with activations of `dtype`; scales and weights are seeded."""

    dtype: type[Any] = np.int8
    seed: int = 0
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)
    inputs: dict[str, tuple[int, ...]] = field(default_factory=dict)
    rng: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)

    def constant(self, value: Any) -> str:
        """A new initializer."""
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, type: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """A node with one output."""
        name = f"n{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(type, list(inputs), [name], name, domain=domain, **attributes)
        )
        return name

    def input(self, *shape: int) -> str:
        """A float32 graph input."""
        name = f"x{len(self.inputs)}"
        self.inputs[name] = shape
        return name

    def point(self, value: int) -> Array:
        """A zero point from -128 to 127, converted to the graph's dtype."""
        return np.array(value + (128 if self.dtype is np.uint8 else 0), self.dtype)

    def scale(self, scale: float, point: int) -> tuple[str, str]:
        """Scale and zero point as operands."""
        return self.constant(np.float32(scale)), self.constant(self.point(point))

    def quantize(self, x: str, scale: float, point: int) -> str:
        """Quantizes a float32 tensor."""
        return self.node("QuantizeLinear", x, *self.scale(scale, point))

    def pair(self, x: str, scale: float, point: int) -> str:
        """QuantizeLinear and DequantizeLinear."""
        names = self.scale(scale, point)
        return self.node("DequantizeLinear", self.node("QuantizeLinear", x, *names), *names)

    def weights(self, *shape: int, scales: int = 1) -> tuple[Array, Any]:
        """int8 weights and their scales."""
        scale = self.rng.uniform(0.002, 0.02, scales).astype(np.float32)
        w = self.rng.integers(-127, 128, shape).astype(np.int8)
        return w, scale if scales > 1 else scale[0]

    def dequantized(self, data: Array, scale: Any, axis: int = 0) -> str:
        """A constant that is followed by DequantizeLinear."""
        operands = self.constant(data), self.constant(scale)
        points = self.constant(np.zeros(np.shape(scale), data.dtype))
        if np.ndim(scale):
            return self.node("DequantizeLinear", *operands, points, axis=axis)
        return self.node("DequantizeLinear", *operands, points)

    def conv(self, x: str, x_scale: float, w: Array, w_scale: Any, **attributes: Any) -> str:
        """A float32 convolution whose weights and bias are stored quantized."""
        bias = self.rng.integers(-2000, 2000, len(w)).astype(np.int32)
        operands = (
            self.dequantized(w, w_scale),
            self.dequantized(bias, np.float32(x_scale) * w_scale),
        )
        return self.node("Conv", x, *operands, **attributes)

    def model(self, *outputs: str) -> onnx.ModelProto:
        """The checked model."""
        graph = helper.make_graph(
            self.nodes,
            "quantized",
            [helper.make_tensor_value_info(n, 1, shape) for n, shape in self.inputs.items()],
            [helper.make_empty_tensor_value_info(name) for name in outputs],
            self.constants,
        )
        imports = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
        model = helper.make_model(graph, opset_imports=imports, ir_version=8)
        return onnx.shape_inference.infer_shapes(model)

    def feeds(self, spread: float = 2.0) -> dict[str, Array]:
        """Normally distributed inputs."""
        return {
            name: (self.rng.standard_normal(shape) * spread).astype(np.float32)
            for name, shape in self.inputs.items()
        }


def onnxruntime_of(model: onnx.ModelProto, feeds: dict[str, Array]) -> list[Array]:
    """onnxruntime's outputs; it computes on int8 values where it has quantized operators."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return list(session.run(None, feeds))
