"""What LiteRT's files hold of an ONNX network: its operators, fused as TensorFlow's converter does
it, and int8 scales of values in the place of QuantizeLinear and DequantizeLinear.

`litert_writer` writes it. For the interpreter that has LiteRT: this imports no trimtab.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

Array = NDArray[Any]

PRODUCTS = ("Conv", "Gemm", "MatMul")
# Those that can end with ReLU or ReLU6.
_FUSING = (*PRODUCTS, "Add", "Mul")
# Those that LiteRT demands one scale of, for what they read and what they write.
_SAME = (
    *("MaxPool", "AveragePool", "Concat", "Split", "Pad", "Resize", "Transpose"),
    *("Reshape", "Flatten", "Squeeze", "Unsqueeze"),
)


@dataclass(frozen=True)
class Scale:
    """Of int8: a real number is `step` times (the integer - `zero`)."""

    step: float
    zero: int

    @classmethod
    def of(cls, low: float, high: float) -> Scale:
        """The one whose integers reach from `low` to `high`."""
        step = (high - low) / 255
        return cls(step, round(-128 - low / step))

    @property
    def low(self) -> float:
        """The real number of -128."""
        return (-128 - self.zero) * self.step

    @property
    def high(self) -> float:
        """The real number of 127."""
        return (127 - self.zero) * self.step


UNIT = Scale(1 / 256, -128)  # what LiteRT demands of the results of those:
_UNITS = ("Sigmoid", "Softmax")


@dataclass
class Node:
    """An operator. `activation`: what its results go through, as TFLite calls it."""

    type: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Any]
    activation: str = "NONE"


class Network:
    """`shapes` of values as ONNX has them; `constants`: real numbers, or shapes and the like;
    `steps`: of those that were integers, one or one for each channel; `scales`: of other values and
    of operands, none in a network of real numbers. ValueError for what TFLite cannot express.
    """

    def __init__(self, path: Path) -> None:
        graph = onnx.shape_inference.infer_shapes(onnx.load(path), data_prop=True).graph
        values = [*graph.input, *graph.value_info, *graph.output]
        self.shapes = {
            value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim]
            for value in values
        }
        self.constants = {
            tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer
        }
        self.steps: dict[str, Array] = {}
        self.scales: dict[str, Scale] = {}
        self.nodes: list[Node] = []
        self._aliases: dict[str, str] = {}
        for node in graph.node:
            self._read(node)
        self.inputs = [v.name for v in graph.input if v.name not in self.constants]
        self.outputs = [self._aliases.get(v.name, v.name) for v in graph.output]
        self._fuse()
        if self.scales:
            self._clamp()
            self._scale_operands()
            self._share()

    def _read(self, node: onnx.NodeProto) -> None:
        inputs = [self._aliases.get(name, name) for name in node.input]
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        if node.op_type == "Constant":
            self.constants[node.output[0]] = numpy_helper.to_array(attributes["value"])
        elif node.op_type == "DequantizeLinear" and inputs[0] in self.constants:
            self._dequantize(node.output[0], inputs, attributes.get("axis", 1))
        elif node.op_type in ("QuantizeLinear", "DequantizeLinear", "Identity", "Dropout"):
            self._aliases[node.output[0]] = inputs[0]
            if node.op_type == "QuantizeLinear":
                self._quantize(inputs)
        else:
            if node.op_type == "HardSigmoid" and not _has_slope_of_a_sixth(attributes):
                raise ValueError(f"{node.output[0]} is a hard sigmoid of another slope than 1 / 6")
            self.nodes.append(Node(node.op_type, inputs, list(node.output), attributes))

    def _dequantize(self, name: str, inputs: Sequence[str], axis: int) -> None:
        integers, step = (self.constants[i].astype(np.float64) for i in inputs[:2])
        zero = self.constants[inputs[2]].astype(np.float64) if len(inputs) > 2 else np.zeros(())
        along = [-1 if a == axis else 1 for a in range(integers.ndim)] if step.size > 1 else []
        self.constants[name] = (integers - zero.reshape(along)) * step.reshape(along)
        self.steps[name] = step.ravel()
        kind = self.constants[inputs[0]].dtype
        if step.size == 1 and kind.itemsize == 1:
            self.scales[name] = Scale(float(step), int(zero) - 128 * (kind == np.uint8))

    def _quantize(self, inputs: Sequence[str]) -> None:
        step, zero = (self.constants[name] for name in inputs[1:])
        if zero.size > 1 or zero.dtype not in (np.uint8, np.int8):
            raise ValueError(f"{inputs[0]} has other integers than 8 bits with one scale")
        scale = Scale(float(step), int(zero) - 128 * (zero.dtype == np.uint8))
        if self.scales.setdefault(inputs[0], scale) != scale:
            raise ValueError(f"{inputs[0]} is quantized in two ways")

    def _fuse(self) -> None:
        """Batch norms into convolutions, activations into what they follow; hard swish as one, but
        for int8, which XNNPACK has no such operator of: the parts are several times as fast.
        """
        readers = Counter([*self.outputs, *(name for node in self.nodes for name in node.inputs)])
        makers = {name: node for node in self.nodes for name in node.outputs}
        for node in list(self.nodes):
            source = node.inputs[0]
            before = makers.get(source)
            if node.type == "Mul" and not self.scales:
                for x, gate in (node.inputs, node.inputs[::-1]):
                    sigmoid = makers.get(gate)
                    if sigmoid and sigmoid.type == "HardSigmoid" and sigmoid.inputs == [x]:
                        node.type, node.inputs = "HardSwish", [x]
                        readers[gate] -= 1
                        break
            if not before or readers[source] > 1 or source in self.scales:
                continue
            if node.type == "BatchNormalization" and before.type == "Conv":
                self._fold(before, node)
            elif node.type in ("Relu", "Clip") and before.type in _FUSING:
                before.activation = self.activation(node)
            else:
                continue
            before.outputs = node.outputs
            makers[node.outputs[0]] = before
            self.nodes.remove(node)
        for node in [node for node in self.nodes if node.type == "HardSigmoid"]:
            place = self.nodes.index(node)
            self.nodes[place : place + 1] = (
                self._hard_sigmoid(node) if readers[node.outputs[0]] else []
            )

    def _hard_sigmoid(self, node: Node) -> list[Node]:
        """relu6(x + 3) / 6, which is how TFLite has it."""
        six = f"{node.outputs[0]}.six"
        self.shapes[six] = self.shapes[node.inputs[0]]
        self.constants |= {f"{six}.3": np.array([3.0]), f"{six}.sixth": np.array([1 / 6])}
        if self.scales:
            self.scales[six] = Scale.of(0, 6)
        return [
            Node("Add", [node.inputs[0], f"{six}.3"], [six], {}, "RELU6"),
            Node("Mul", [six, f"{six}.sixth"], node.outputs, {}),
        ]

    def _fold(self, conv: Node, norm: Node) -> None:
        gamma, beta, mean, variance = (self.constants[name] for name in norm.inputs[1:])
        factor = gamma / np.sqrt(variance + norm.attributes.get("epsilon", 1e-5))
        weight, *rest = conv.inputs[1:]
        bias = self.constants[rest[0]] if rest else 0
        name = conv.outputs[0]
        conv.inputs[1:] = [f"{name}.weight", f"{name}.bias"]
        self.constants[f"{name}.weight"] = self.constants[weight] * factor.reshape(-1, 1, 1, 1)
        self.constants[f"{name}.bias"] = (bias - mean) * factor + beta

    def activation(self, node: Node) -> str:
        """Of a Relu or a Clip."""
        if node.type == "Relu":
            return "RELU"
        bounds = [float(self.constants[name]) for name in node.inputs[1:] if name]
        if bounds != [0, 6]:
            raise ValueError(f"{node.outputs[0]} is clipped to other bounds than 0 and 6")
        return "RELU6"

    def _clamp(self) -> None:
        """The quantizer leaves a ReLU out where no integer is below zero: wider scales need it."""
        for node in self.nodes:
            scale = self.scales.get(node.outputs[0])
            if scale and scale.zero == -128 and node.type in _FUSING:
                node.activation = "RELU6" if abs(scale.high - 6) < 1e-3 else "RELU"

    def _scale_operands(self) -> None:
        for name in [n for node in self.nodes if node.type in ("Add", "Mul") for n in node.inputs]:
            if name in self.constants:
                real = self.constants[name]
                scale = Scale.of(min(real.min(), 0), max(real.max(), 0, 1e-9))
                self.scales.setdefault(name, scale)

    def is_positive(self, name: str) -> bool:
        """Whether no number of a value is less than zero, as far as one can tell."""
        scale = self.scales.get(name)
        makers = [node for node in self.nodes if name in node.outputs]
        return bool(scale and scale.zero == -128) or any(n.activation != "NONE" for n in makers)

    def _share(self) -> None:
        """One scale where LiteRT demands it: that of the range of all of them, as TensorFlow's
        converter has it, so that nothing is rounded once more on the way.
        """
        parents: dict[str, str] = {}

        def root(name: str) -> str:
            while name in parents:
                name = parents[name]
            return name

        for node in self.nodes:
            if node.type in _SAME:
                inputs = [name for name in node.inputs if name in self.scales]
                for name in [*inputs, *node.outputs]:
                    if root(name) != root(node.outputs[0]):
                        parents[root(name)] = root(node.outputs[0])
        groups = defaultdict(list)
        for name in self.scales:
            groups[root(name)].append(name)
        for members in groups.values():
            scales = [self.scales[name] for name in members]
            if len(set(scales)) > 1:
                low, high = min(s.low for s in scales), max(s.high for s in scales)
                self.scales |= dict.fromkeys(members, Scale.of(low, high))
        for node in [node for node in self.nodes if node.type in _UNITS]:
            name = node.outputs[0]
            if len(groups[root(name)]) > 1:
                node.outputs = [f"{name}.unit"]
                self.shapes[node.outputs[0]] = self.shapes[name]
                place = self.nodes.index(node) + 1
                self.nodes.insert(place, Node("Requantize", node.outputs, [name], {}))
            self.scales[node.outputs[0]] = UNIT


def _has_slope_of_a_sixth(attributes: dict[str, Any]) -> bool:
    found = [attributes.get("alpha", 0.2), attributes.get("beta", 0.5)]
    return bool(np.allclose(found, [1 / 6, 0.5], atol=1e-6))
