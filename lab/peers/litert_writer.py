"""Files of LiteRT, which reads no ONNX: those of a network that was read, in int8 with the integers
of its QDQ file, or of real numbers; as TensorFlow's converter would make them.

Real numbers come in and go out. For the interpreter that has LiteRT: this imports no trimtab.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from lab.peers.litert_file import File
    from lab.peers.litert_network import Network, Node

Array = NDArray[Any]


class Writer:
    """Writes a network into a file. Images are stored with their channels last: see `_order`."""

    def __init__(self, network: Network, file: File) -> None:
        self._net = network
        self._file = file
        self._known: dict[str, int] = {}

    def content(self) -> bytes:
        """The whole file; ValueError, with what it is, where TFLite cannot express it."""
        inputs = [self._border(name, "QUANTIZE") for name in self._net.inputs]
        for node in self._net.nodes:
            if node.type not in _WRITERS:
                raise ValueError(f"nothing is written for {node.type} ({node.outputs[0]})")
            _WRITERS[node.type](self, node)
        outputs = [self._border(name, "DEQUANTIZE") for name in self._net.outputs]
        return self._file.content(inputs, outputs)

    def _border(self, name: str, change: str) -> int:
        """An input or an output of the network: real numbers, which is the converter's default."""
        value = self._value(name)
        if not self._net.scales:
            return value
        real = self._file.tensor(f"{name}.real", self._stored(name), np.float32)
        ends = [real, value] if change == "QUANTIZE" else [value, real]
        self._file.operator(change, ends[:1], ends[1:])
        return real

    def _stored(self, name: str) -> list[int]:
        """The shape of a value as it is stored."""
        shape = self._net.shapes.get(name, [0])
        if not all(shape):
            raise ValueError(f"the shape of {name} is not known")
        return [shape[axis] for axis in _order(len(shape))]

    def _value(self, name: str, rank: int = 0) -> int:
        """The tensor of a value, or of a constant operand of one of that rank."""
        if name in self._net.constants:
            return self._operand(name, rank)
        if name not in self._known:
            self._known[name] = self._like(name, name, self._stored(name))
        return self._known[name]

    def _like(self, name: str, value: str, shape: Sequence[int]) -> int:
        """A new tensor of numbers like those of a value."""
        if not self._net.scales:
            return self._file.tensor(name, shape, np.float32)
        return self._file.tensor(name, shape, np.int8, None, *self._numbers_of(value))

    def _numbers_of(self, value: str) -> tuple[list[float], list[int]]:
        if value not in self._net.scales:
            raise ValueError(f"{value} is not quantized")
        scale = self._net.scales[value]
        return [scale.step], [scale.zero]

    def _operand(self, name: str, rank: int) -> int:
        real = self._net.constants[name]
        real = real.reshape(*[1] * (rank - real.ndim), *real.shape)
        real = real.transpose(_order(real.ndim))
        if not self._net.scales:
            return self._file.constant(real.astype(np.float32))
        steps, zeros = self._numbers_of(name)
        integers = (np.rint(real / steps[0]) + zeros[0]).clip(-128, 127).astype(np.int8)
        return self._file.constant(integers, steps, zeros)

    def _one(self, node: Node, name: str, form: str = "", **options: Any) -> None:
        """An operator of one value, with one result."""
        inputs, outputs = [self._value(node.inputs[0])], [self._value(node.outputs[0])]
        self._file.operator(name, inputs, outputs, form, **options)

    # Products.

    def _conv(self, node: Node) -> None:
        x, weight = node.inputs[:2]
        kernel = self._net.constants[weight].shape[2:]
        if len(kernel) != 2:
            raise ValueError(f"{node.outputs[0]} is no convolution of images")
        given, fields = self._window(node, kernel)
        height, width = node.attributes.get("dilations", (1, 1))
        fields |= {"dilationHFactor": height, "dilationWFactor": width}
        channels = self._net.shapes[x][1]
        if 1 < channels == node.attributes.get("group", 1):
            multiplier = self._net.constants[weight].shape[0] // channels
            fields["depthMultiplier"] = multiplier
            form = "DepthwiseConv2D"
            self._product(node, "DEPTHWISE_CONV_2D", given, (1, 2, 3, 0), form, **fields)
        else:
            self._product(node, "CONV_2D", given, (0, 2, 3, 1), "Conv2D", **fields)

    def _gemm(self, node: Node) -> None:
        found = [node.attributes.get(key, 1) for key in ("alpha", "beta")]
        if found != [1, 1] or node.attributes.get("transA", 0):
            raise ValueError(f"{node.outputs[0]} is no plain product")
        axes = (0, 1) if node.attributes.get("transB", 0) else (1, 0)
        self._product(node, "FULLY_CONNECTED", self._value(node.inputs[0]), axes, "FullyConnected")

    def _product(
        self, node: Node, name: str, given: int, axes: Sequence[int], form: str, **fields: Any
    ) -> None:
        """Weights, whose axes are put into the order `axes`, and biases."""
        x, weight, *rest = node.inputs
        if weight not in self._net.constants:
            raise ValueError(f"the weights of {node.outputs[0]} are not constant")
        real = self._net.constants[weight].transpose(axes)
        axis = real.ndim - 1 if form == "DepthwiseConv2D" else 0
        bias = self._net.constants[rest[0]] if rest else np.zeros(real.shape[axis])
        if self._net.scales:
            steps = np.broadcast_to(self._net.steps[weight], real.shape[axis])
            along = [-1 if a == axis else 1 for a in range(real.ndim)]
            integers = np.rint(real / steps.reshape(along))
            if np.abs(integers).max(initial=0) > 128:
                raise ValueError(f"the integers of {weight} have another zero point than 0")
            integers = integers.clip(-128, 127).astype(np.int8)
            zeros = np.zeros(len(steps), np.int64)
            filters = self._file.tensor(weight, real.shape, np.int8, integers, steps, zeros, axis)
            steps = steps * self._net.scales[x].step
            sums = np.rint(bias / steps).astype(np.int32)
            biases = self._file.tensor(
                f"bias of {weight}", sums.shape, np.int32, sums, steps, zeros
            )
        else:
            filters = self._file.constant(real.astype(np.float32))
            biases = self._file.constant(bias.astype(np.float32))
        outputs = [self._value(node.outputs[0])]
        fields["fusedActivationFunction"] = node.activation
        self._file.operator(name, [given, filters, biases], outputs, form, **fields)

    def _window(self, node: Node, kernel: Sequence[int]) -> tuple[int, dict[str, Any]]:
        """What windows of an image go over, padded where TFLite cannot, and the fields of it."""
        if node.attributes.get("auto_pad", b"NOTSET") not in (b"NOTSET", b"VALID"):
            raise ValueError(f"{node.outputs[0]} pads by auto_pad")
        strides = node.attributes.get("strides", (1, 1))
        dilations = node.attributes.get("dilations", (1, 1))
        pads = node.attributes.get("pads", (0, 0, 0, 0))
        name = node.inputs[0]
        sizes = zip(self._net.shapes[name][2:], self._net.shapes[node.outputs[0]][2:], strict=True)
        ways, margins = {"VALID", "SAME"}, [[0, 0]]
        for i, (size, out) in enumerate(sizes):
            missing = max((out - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1 - size, 0)
            margins.append([pads[i], max(missing - pads[i], 0)])
            if missing or pads[i]:
                ways.discard("VALID")
            if out != -(-size // strides[i]) or pads[i] != missing // 2:
                ways.discard("SAME")
        given = self._value(name)
        if not ways:
            given = self._padded(node, name, [*margins, [0, 0]])
        padding = "SAME" if ways == {"SAME"} else "VALID"
        return given, {"padding": padding, "strideH": strides[0], "strideW": strides[1]}

    def _padded(self, node: Node, name: str, margins: list[list[int]]) -> int:
        """With zeros; for a maximum, with what is less than all others, unless that is zero."""
        before, after = zip(*margins, strict=True)
        shape = [sum(sizes) for sizes in zip(before, self._stored(name), after, strict=True)]
        made = self._like(f"{node.outputs[0]}.margins", name, shape)
        inputs = [self._value(name), self._file.numbers(margins)]
        if node.type != "MaxPool" or self._net.is_positive(name):
            self._file.operator("PAD", inputs, [made], "Pad")
            return made
        if self._net.scales:
            inputs.append(self._file.constant(np.array([-128], np.int8), *self._numbers_of(name)))
        else:
            inputs.append(self._file.constant(np.array([np.finfo(np.float32).min], np.float32)))
        self._file.operator("PADV2", inputs, [made], "PadV2")
        return made

    def _pool(self, node: Node) -> None:
        kernel = node.attributes["kernel_shape"]
        margins = any(node.attributes.get("pads", ())) or node.attributes.get("ceil_mode", 0)
        if node.type == "AveragePool" and margins:
            raise ValueError(f"{node.outputs[0]} is a mean over margins")
        given, fields = self._window(node, kernel)
        fields |= {"filterHeight": kernel[0], "filterWidth": kernel[1]}
        name = "MAX_POOL_2D" if node.type == "MaxPool" else "AVERAGE_POOL_2D"
        self._file.operator(name, [given], [self._value(node.outputs[0])], "Pool2D", **fields)

    def _pad(self, node: Node) -> None:
        pads = self._net.constants[node.inputs[1]]
        fill = [self._net.constants[name] for name in node.inputs[2:] if name]
        if node.attributes.get("mode", b"constant") != b"constant" or np.any(fill):
            raise ValueError(f"{node.outputs[0]} is padded with other numbers than 0")
        margins = pads.reshape(2, -1).T[_order(pads.size // 2)]
        inputs = [self._value(node.inputs[0]), self._file.numbers(margins)]
        self._file.operator("PAD", inputs, [self._value(node.outputs[0])], "Pad")

    def _mean(self, node: Node) -> None:
        rank = len(self._net.shapes[node.inputs[0]])
        axes, keeps = node.attributes.get("axes"), bool(node.attributes.get("keepdims", 1))
        if node.type == "GlobalAveragePool":
            axes = range(2, rank)
        elif axes is None:
            axes = self._net.constants[node.inputs[1]]
        if rank >= 4 and not keeps and {int(axis) % rank for axis in axes} != {rank - 2, rank - 1}:
            raise ValueError(f"{node.outputs[0]} is a mean of other axes than those of images")
        inputs = [self._value(node.inputs[0]), self._file.numbers([_axis(a, rank) for a in axes])]
        self._file.operator(
            "MEAN", inputs, [self._value(node.outputs[0])], "Reducer", keepDims=keeps
        )

    def _resize(self, node: Node) -> None:
        text = {k: v.decode() for k, v in node.attributes.items() if isinstance(v, bytes)}
        how = text.get("coordinate_transformation_mode", "half_pixel")
        mode = text.get("mode", "nearest")
        size = self._file.numbers(self._net.shapes[node.outputs[0]][2:])
        if mode == "nearest" and (how, text.get("nearest_mode")) == ("asymmetric", "floor"):
            name, form, fields = "RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighbor", {}
        elif mode == "linear" and how in ("half_pixel", "pytorch_half_pixel", "align_corners"):
            name, form = "RESIZE_BILINEAR", "ResizeBilinear"
            corners = how == "align_corners"
            fields = {"alignCorners": corners, "halfPixelCenters": not corners}
        else:
            raise ValueError(f"{node.outputs[0]} is resized by {mode} with {how}")
        inputs = [self._value(node.inputs[0]), size]
        self._file.operator(name, inputs, [self._value(node.outputs[0])], form, **fields)

    def _softmax(self, node: Node) -> None:
        rank = len(self._net.shapes[node.inputs[0]])
        if _axis(node.attributes.get("axis", -1), rank) != rank - 1:
            raise ValueError(f"{node.outputs[0]} is no softmax over the channels")
        self._one(node, "SOFTMAX", "Softmax", beta=1.0)

    def _leaky_relu(self, node: Node) -> None:
        alpha = node.attributes.get("alpha", 0.01)
        self._one(node, "LEAKY_RELU", "LeakyRelu", alpha=alpha)

    def _activation(self, node: Node) -> None:
        self._one(node, self._net.activation(node))

    def _elementwise(self, node: Node) -> None:
        rank = len(self._net.shapes[node.outputs[0]])
        inputs = [self._value(name, rank) for name in node.inputs]
        ranks = {len(self._net.shapes[n]) for n in node.inputs if n not in self._net.constants}
        if rank >= 4 and ranks != {rank}:
            raise ValueError(f"the operands of {node.outputs[0]} have other ranks than it has")
        options = {"fusedActivationFunction": node.activation}
        outputs = [self._value(node.outputs[0])]
        self._file.operator(node.type.upper(), inputs, outputs, node.type, **options)

    # Movement.

    def _concat(self, node: Node) -> None:
        rank = len(self._net.shapes[node.outputs[0]])
        axis = _axis(node.attributes["axis"], rank)
        inputs = [self._value(name, rank) for name in node.inputs]
        outputs = [self._value(node.outputs[0])]
        self._file.operator("CONCATENATION", inputs, outputs, "Concatenation", axis=axis)

    def _split(self, node: Node) -> None:
        shapes = [self._net.shapes[name] for name in node.outputs]
        if shapes != shapes[:1] * len(shapes):
            raise ValueError(f"the parts of {node.inputs[0]} have other sizes than each other")
        axis = _axis(node.attributes.get("axis", 0), len(shapes[0]))
        outputs = [self._value(name) for name in node.outputs]
        inputs = [self._file.numbers(axis), self._value(node.inputs[0])]
        self._file.operator("SPLIT", inputs, outputs, "Split", numSplits=len(outputs))

    def _transpose(self, node: Node) -> None:
        axes = node.attributes["perm"]
        order = [_axis(axes[axis], len(axes)) for axis in _order(len(axes))]
        inputs = [self._value(node.inputs[0]), self._file.numbers(order)]
        self._file.operator("TRANSPOSE", inputs, [self._value(node.outputs[0])], "Transpose")

    def _reshape(self, node: Node) -> None:
        """Where channels and pixels change places, by way of the order that ONNX has them in."""
        x, y = node.inputs[0], node.outputs[0]
        old, new = self._net.shapes[x], self._net.shapes[y]
        given, made, stored = self._value(x), self._value(y), self._stored(y)
        has_same_pixels = min(len(old), len(new)) >= 4 and (
            (old[0], old[-2:]) == (new[0], new[-2:])
        )
        if not has_same_pixels and not _is_plain(old):
            plain = self._like(f"{x}.plain", x, old)
            order = [_order(len(old)).index(axis) for axis in range(len(old))]
            inputs = [given, self._file.numbers(order)]
            self._file.operator("TRANSPOSE", inputs, [plain], "Transpose")
            given = plain
        if has_same_pixels or _is_plain(new):
            self._file.operator("RESHAPE", [given, self._file.numbers(stored)], [made], "Reshape")
            return
        plain = self._like(f"{y}.plain", y, new)
        self._file.operator("RESHAPE", [given, self._file.numbers(new)], [plain], "Reshape")
        inputs = [plain, self._file.numbers(_order(len(new)))]
        self._file.operator("TRANSPOSE", inputs, [made], "Transpose")


_WRITERS: dict[str, Callable[[Writer, Node], None]] = {
    "Conv": Writer._conv,
    **dict.fromkeys(("Gemm", "MatMul"), Writer._gemm),
    **dict.fromkeys(("MaxPool", "AveragePool"), Writer._pool),
    "Pad": Writer._pad,
    **dict.fromkeys(("GlobalAveragePool", "ReduceMean"), Writer._mean),
    "Resize": Writer._resize,
    "Softmax": Writer._softmax,
    "Sigmoid": partial(Writer._one, name="LOGISTIC"),
    "HardSwish": partial(Writer._one, name="HARD_SWISH", form="HardSwish"),
    "Requantize": partial(Writer._one, name="QUANTIZE"),
    "LeakyRelu": Writer._leaky_relu,
    **dict.fromkeys(("Relu", "Clip"), Writer._activation),
    **dict.fromkeys(("Add", "Mul"), Writer._elementwise),
    "Concat": Writer._concat,
    "Split": Writer._split,
    "Transpose": Writer._transpose,
    **dict.fromkeys(("Reshape", "Flatten", "Squeeze", "Unsqueeze"), Writer._reshape),
}


def _order(rank: int) -> list[int]:
    """The axes of ONNX in the order in which they are stored: the channels of images are last."""
    return [0, rank - 2, rank - 1, *range(1, rank - 2)] if rank >= 4 else list(range(rank))


def _axis(axis: int, rank: int) -> int:
    """Where an axis of ONNX is stored."""
    return _order(rank).index(int(axis) % rank)


def _is_plain(shape: Sequence[int]) -> bool:
    """Whether it is stored as ONNX has it: no image, or of one pixel, or of one channel."""
    return len(shape) < 4 or 1 in (math.prod(shape[-2:]), math.prod(shape[1:-2]))
