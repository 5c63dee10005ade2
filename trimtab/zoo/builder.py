"""A small builder of ONNX networks with seeded weights.

It writes what unfused exports of training frameworks contain: convolutions without bias followed by
BatchNormalization, ReLU6 as Clip, SiLU as Sigmoid and Mul, channel shuffle as Reshape, Transpose,
Reshape. Weights are He-initialized and batch-norm statistics stay near 0 and 1, so that activations
keep their range.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
INPUT = "data"
# Scale of the batch norm that ends a residual branch: dozens of sums keep their range.
RESIDUAL_GAMMA = 0.5


class Net:
    """Collects nodes and weights; values are named by the strings that the methods return."""

    def __init__(self, name: str, input_shape: Sequence[int], seed: int = 0) -> None:
        self._name = name
        self._rng = np.random.default_rng(seed)
        self._input_shape = tuple(input_shape)
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[TensorProto] = []
        self._outputs: list[str] = []
        self._channels: dict[str, int] = {INPUT: input_shape[1]}
        self._strides: dict[str, int] = {INPUT: 1}

    def channels(self, x: str) -> int:
        """Channels of value `x`."""
        return self._channels[x]

    def size(self, x: str) -> int:
        """Width and height of `x`, a map of the square input at some stride."""
        return self._input_shape[-1] // self._strides[x]

    def constant(self, name: str, value: NDArray[np.generic]) -> str:
        """An initializer."""
        self._weights.append(numpy_helper.from_array(value, name))
        return name

    def op(
        self, op_type: str, inputs: Sequence[str], channels: int | None = None, **attributes: Any
    ) -> str:
        """One node with one output of `channels` channels, by default those of the first input."""
        name = f"{op_type.lower()}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(op_type, list(inputs), [name], name, **attributes))
        self._channels[name] = self._channels[inputs[0]] if channels is None else channels
        stride = self._strides[inputs[0]] * attributes.get("strides", (1,))[0]
        self._strides[name] = stride
        return name

    def conv(
        self,
        x: str,
        out: int,
        kernel: int = 1,
        stride: int | tuple[int, int] = 1,
        *,
        groups: int = 1,
        pad: int | None = None,
        bias: bool = True,
    ) -> str:
        """A convolution with a square window; padded to keep the size at stride 1 unless `pad` says
        otherwise. Two strides are those of rows and columns.
        """
        name = f"conv_{len(self._nodes)}"
        shape = (out, self.channels(x) // groups, kernel, kernel)
        fan_in = int(np.prod(shape[1:]))
        weight = self._rng.standard_normal(shape, np.float32) * np.float32(np.sqrt(2 / fan_in))
        inputs = [x, self.constant(f"{name}.weight", weight)]
        if bias:
            inputs.append(self.constant(f"{name}.bias", self._uniform(out, 0.0, fan_in**-0.5)))
        return self.op(
            "Conv",
            inputs,
            out,
            kernel_shape=[kernel, kernel],
            strides=[stride, stride] if isinstance(stride, int) else list(stride),
            pads=[kernel // 2 if pad is None else pad] * 4,
            dilations=[1, 1],
            group=groups,
        )

    def batch_norm(self, x: str, gamma: float = 1.0) -> str:
        """Batch normalization: scale near `gamma`, statistics near mean 0 and variance 1."""
        name, count = f"bn_{len(self._nodes)}", self.channels(x)
        ranges = {
            "weight": (gamma, 0.2 * gamma),
            "bias": (0.0, 0.1),
            "mean": (0.0, 0.1),
            "var": (1.0, 0.2),
        }
        parameters = [
            self.constant(f"{name}.{key}", self._uniform(count, center, spread))
            for key, (center, spread) in ranges.items()
        ]
        return self.op("BatchNormalization", [x, *parameters], epsilon=1e-5)

    def conv_bn(
        self,
        x: str,
        out: int,
        kernel: int = 1,
        stride: int | tuple[int, int] = 1,
        act: str = "relu",
        *,
        groups: int = 1,
        gamma: float = 1.0,
    ) -> str:
        """Convolution without bias, batch normalization with scale near `gamma`, activation."""
        x = self.conv(x, out, kernel, stride, groups=groups, bias=False)
        return self.act(self.batch_norm(x, gamma), act)

    def act(self, x: str, kind: str) -> str:
        """An activation as exporters write it; `linear` is none at all."""
        match kind:
            case "linear":
                return x
            case "relu6":
                bounds = [
                    self.constant(f"{x}.{key}", np.array(value, np.float32))
                    for key, value in (("min", 0), ("max", 6))
                ]
                return self.op("Clip", [x, *bounds])
            case "silu":
                return self.op("Mul", [x, self.op("Sigmoid", [x])])
            case "gelu":
                return self._gelu(x)
            case "leaky":
                return self.op("LeakyRelu", [x], alpha=0.1)
            case "hard_sigmoid":
                return self.op("HardSigmoid", [x], alpha=1 / 6, beta=0.5)
            case _:
                return self.op(
                    {"relu": "Relu", "hard_swish": "HardSwish", "sigmoid": "Sigmoid"}[kind], [x]
                )

    def max_pool(
        self, x: str, kernel: int, stride: int, pad: int = 0, *, ceil_mode: bool = False
    ) -> str:
        """A square max pooling."""
        return self.op(
            "MaxPool",
            [x],
            kernel_shape=[kernel, kernel],
            strides=[stride, stride],
            pads=[pad] * 4,
            ceil_mode=int(ceil_mode),
        )

    def global_mean(self, x: str) -> str:
        """Mean over height and width, as `x.mean((2, 3))` is exported: [n, c, h, w] -> [n, c]."""
        return self.op("ReduceMean", [x], axes=[2, 3], keepdims=0)

    def global_pool(self, x: str) -> str:
        """Global average pooling and Flatten: [n, c, h, w] -> [n, c]."""
        return self.op("Flatten", [self.op("GlobalAveragePool", [x])], axis=1)

    def linear(self, x: str, out: int) -> str:
        """A fully connected layer: [n, c] -> [n, out]."""
        name, fan_in = f"fc_{len(self._nodes)}", self.channels(x)
        weight = self._uniform((out, fan_in), 0.0, fan_in**-0.5)
        bias = self._uniform(out, 0.0, fan_in**-0.5)
        inputs = [x, self.constant(f"{name}.weight", weight), self.constant(f"{name}.bias", bias)]
        return self.op("Gemm", inputs, out, transB=1)

    def tokens_linear(self, x: str, out: int) -> str:
        """A fully connected layer of each token: [n, tokens, c] -> [n, tokens, out]."""
        name, fan_in = f"fc_{len(self._nodes)}", self.channels(x)
        weight = self._uniform((fan_in, out), 0.0, fan_in**-0.5)
        bias = self._uniform(out, 0.0, fan_in**-0.5)
        y = self.op("MatMul", [x, self.constant(f"{name}.weight", weight)], out)
        return self.op("Add", [y, self.constant(f"{name}.bias", bias)])

    def layer_norm(self, x: str) -> str:
        """Layer normalization over the channels of each token: scale near 1, shift near 0."""
        name, count = f"norm_{len(self._nodes)}", self.channels(x)
        weight = self.constant(f"{name}.weight", self._uniform(count, 1.0, 0.2))
        bias = self.constant(f"{name}.bias", self._uniform(count, 0.0, 0.1))
        return self.op("LayerNormalization", [x, weight, bias], axis=-1, epsilon=1e-6)

    def softmax(self, x: str) -> str:
        """Softmax over the channels."""
        return self.op("Softmax", [x], axis=1)

    def add(self, a: str, b: str) -> str:
        """Elementwise sum."""
        return self.op("Add", [a, b])

    def concat(self, *parts: str) -> str:
        """Concatenation of channels."""
        return self.op("Concat", parts, sum(map(self.channels, parts)), axis=1)

    def halves(self, x: str) -> tuple[str, str]:
        """The two halves of the channels, as `x.chunk(2, 1)` is exported."""
        name, half = f"split_{len(self._nodes)}", self.channels(x) // 2
        sizes = self.constant(f"{name}.sizes", np.array([half, half], np.int64))
        parts = f"{name}.a", f"{name}.b"
        self._nodes.append(helper.make_node("Split", [x, sizes], parts, name, axis=1))
        self._channels |= dict.fromkeys(parts, half)
        self._strides |= dict.fromkeys(parts, self._strides[x])
        return parts

    def split(self, x: str, sizes: Sequence[int], axis: int) -> list[str]:
        """Parts of these sizes along an axis, which count as their channels."""
        name = f"split_{len(self._nodes)}"
        lengths = self.constant(f"{name}.sizes", np.array(sizes, np.int64))
        parts = [f"{name}.{number}" for number in range(len(sizes))]
        self._nodes.append(helper.make_node("Split", [x, lengths], parts, name, axis=axis))
        self._channels |= dict(zip(parts, sizes, strict=True))
        self._strides |= dict.fromkeys(parts, self._strides[x])
        return parts

    def scaled(self, x: str, factor: float) -> str:
        """Product with a number."""
        name = f"scale_{len(self._nodes)}"
        return self.op("Mul", [x, self.constant(name, np.array(factor, np.float32))])

    def reshape(self, x: str, shape: Sequence[int], channels: int | None = None) -> str:
        """A reshape to fixed dimensions."""
        name = f"reshape_{len(self._nodes)}.shape"
        return self.op("Reshape", [x, self.constant(name, np.array(shape, np.int64))], channels)

    def upsample(self, x: str, scale: int) -> str:
        """Nearest-neighbor upsampling by a whole factor."""
        scales = np.array([1, 1, scale, scale], np.float32)
        name = self.constant(f"resize_{len(self._nodes)}.scales", scales)
        larger = self.op(
            "Resize",
            [x, "", name],
            mode="nearest",
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        )
        self._strides[larger] //= scale
        return larger

    def output(self, x: str, name: str) -> None:
        """Declares `x` a network output called `name`."""
        self._nodes.append(helper.make_node("Identity", [x], [name], name))
        self._outputs.append(name)

    def model(self, fingerprint: str) -> onnx.ModelProto:
        """The finished model; `fingerprint` says which builder made it."""
        graph = helper.make_graph(
            self._nodes,
            self._name,
            [helper.make_tensor_value_info(INPUT, TensorProto.FLOAT, self._input_shape)],
            [helper.make_empty_tensor_value_info(name) for name in self._outputs],
            self._weights,
        )
        model = helper.make_model(
            graph,
            producer_name="trimtab.zoo",
            ir_version=8,
            opset_imports=[helper.make_opsetid("", OPSET)],
        )
        model = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
        del model.graph.value_info[:]
        helper.set_model_props(model, {"trimtab.zoo": fingerprint})
        return model

    def _uniform(
        self, shape: int | tuple[int, ...], center: float, spread: float
    ) -> NDArray[np.float32]:
        return self._rng.uniform(center - spread, center + spread, shape).astype(np.float32)

    def _gelu(self, x: str) -> str:
        """GELU as exporters write it: x / 2 * (1 + erf(x / sqrt(2)))."""
        one = self.constant(f"{x}.one", np.array(1, np.float32))
        y = self.op("Erf", [self.scaled(x, 0.5**0.5)])
        return self.scaled(self.op("Mul", [x, self.op("Add", [y, one])]), 0.5)
