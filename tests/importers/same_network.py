"""Writes a network in all formats that can express it, from one description.

The zoo's builder records the description step by step, with ONNX's names, and `write` translates
each step into the format. An adaptive pool, which ONNX and Caffe lack, is written as an ordinary
pool if all its windows have the same size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from tests.importers import caffe_writer, ncnn_writer, paddle_writer, pnnx_writer
from tests.ops.cases.case import Array
from trimtab.zoo.builder import INPUT, OPSET, Net

# The end of a slice to the end of an axis, in ONNX, ncnn and Paddle.
_FAR, _NONE, _LAST = 2**63 - 1, -233, 2**31 - 1

_SAME = -233  # ncnn's value for SAME padding


@dataclass(frozen=True)
class Step:
    """An operator: its type, its inputs and the name of its result."""

    kind: str
    inputs: tuple[str, ...]
    output: str
    attributes: dict[str, Any]

    @property
    def pad(self) -> int:
        """The padding of every side."""
        return int(self.attributes.get("pads", [0])[0])


class Description(Net):
    """Records the calls of the zoo's builder; `adaptive_pool` and the methods after it are layers
    that the zoo does not use.
    """

    def __init__(self, shape: Sequence[int]) -> None:
        super().__init__("net", shape)
        self.shape = tuple(shape)
        self.steps: list[Step] = []
        self.constants: dict[str, Array] = {}
        self.result = ""

    def constant(self, name: str, value: NDArray[np.generic]) -> str:
        """Weights."""
        self.constants[name] = value
        return name

    def op(
        self, op_type: str, inputs: Sequence[str], channels: int | None = None, **attributes: Any
    ) -> str:
        """Records a step."""
        name = f"{op_type.lower()}_{len(self.steps)}"
        self.steps.append(Step(op_type, tuple(inputs), name, attributes))
        self._channels[name] = self._channels[inputs[0]] if channels is None else channels
        # The builder numbers its nodes for their names.
        self._nodes.append(onnx.NodeProto())
        return name

    def output(self, x: str, name: str) -> None:
        """Declares the result, which keeps its name."""
        self.result = x

    def adaptive_pool(self, x: str, size: tuple[int, int], of: tuple[int, int]) -> str:
        """Adaptive average pooling, as in PyTorch, of an image of size `of`."""
        return self.op("AdaptivePool", [x], size=size, of=of)

    def same_conv(self, x: str, kernel: int) -> str:
        """A depthwise convolution that keeps the size; of an even kernel, an odd pixel more is at
        the end.
        """
        y = self.conv(x, self.channels(x), kernel, groups=self.channels(x))
        self.steps[-1].attributes.pop("pads")
        self.steps[-1].attributes["auto_pad"] = "SAME_UPPER"
        return y

    def rest(self, x: str, begin: int) -> str:
        """The channels from `begin` on."""
        return self.op("Slice", [x], self.channels(x) - begin, begin=begin)

    def rows(self, x: str) -> str:
        """A vector per image."""
        return self.op("Reshape", [x])

    def doubled(self, x: str) -> str:
        """Repeats each pixel two by two."""
        return self.op("Resize", [x])

    def weights(self, step: Step, i: int) -> Array:
        """Weights that a step reads."""
        return self.constants[step.inputs[i]]

    def values(self, step: Step) -> str:
        """The names of other steps that a step reads, separated by spaces."""
        return " ".join(name for name in step.inputs if name and name not in self.constants)


def write(net: Description, form: str, folder: Path) -> Path:
    """Writes the network in a format; returns the path to load."""
    folder.mkdir(exist_ok=True)
    return FORMATS[form](net, folder)


def _window(step: Step) -> int:
    """Kernel and stride of an adaptive pool with equal windows; 0: global."""
    (size, _), (of, _) = step.attributes["size"], step.attributes["of"]
    assert step.attributes["size"] == (size, size)
    assert of % size == 0, "its windows differ"
    return 0 if size == 1 else of // size


def _onnx(net: Description, folder: Path) -> Path:
    nodes = []
    extra: dict[str, Array] = {}
    for step in net.steps:
        kind, inputs, attributes = step.kind, list(step.inputs), dict(step.attributes)
        if kind == "AdaptivePool":
            window = _window(step)
            kind = "AveragePool" if window else "GlobalAveragePool"
            attributes = {"kernel_shape": [window] * 2, "strides": [window] * 2} if window else {}
        elif kind == "Slice":
            bounds = {"starts": attributes.pop("begin"), "ends": _FAR, "axes": 1}
            extra |= {f"{step.output}.{k}": np.array([v]) for k, v in bounds.items()}
            inputs += [f"{step.output}.{name}" for name in bounds]
        elif kind == "Reshape":
            extra[f"{step.output}.shape"] = np.array([0, -1])
            inputs.append(f"{step.output}.shape")
        elif kind == "Resize":
            extra[f"{step.output}.scales"] = np.array([1, 1, 2, 2], np.float32)
            inputs += ["", f"{step.output}.scales"]
            attributes = {"mode": "nearest", "nearest_mode": "floor"}
            attributes |= {"coordinate_transformation_mode": "asymmetric"}
        nodes.append(helper.make_node(kind, inputs, [step.output], step.output, **attributes))
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info(INPUT, TensorProto.FLOAT, net.shape)],
        [helper.make_empty_tensor_value_info(net.result)],
        [numpy_helper.from_array(v, k) for k, v in {**net.constants, **extra}.items()],
    )
    path = folder / "net.onnx"
    opsets = [helper.make_opsetid("", OPSET)]
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=opsets), path)
    return path


def _ncnn(net: Description, folder: Path) -> Path:
    lines = ncnn_writer.head({INPUT: net.shape[1:]})
    weights: list[Array | ncnn_writer.Tagged] = []
    for step in net.steps:
        a = step.attributes
        type, params = step.kind, dict[int, ncnn_writer.Param]()
        if step.kind in ("Conv", "Gemm"):
            weight = net.weights(step, 1)
            weights.append(ncnn_writer.Tagged(weight))
            weights += [net.weights(step, 2)] if len(step.inputs) > 2 else []
        match step.kind:
            case "Conv":
                group = a["group"]
                type = "Convolution" if group == 1 else "ConvolutionDepthWise"
                params = {0: len(weight), 1: weight.shape[2], 3: a["strides"][0]}
                params |= {4: _SAME if "auto_pad" in a else step.pad}
                params |= {5: int(len(step.inputs) > 2), 6: weight.size}
                params |= {7: group} if group > 1 else {}
            case "BatchNormalization":
                type, params = "BatchNorm", {0: net.weights(step, 1).size, 1: a["epsilon"]}
                # Scale, mean, variance, shift.
                weights += [net.weights(step, i) for i in (1, 3, 4, 2)]
            case "Relu":
                type = "ReLU"
            case "Clip":
                params = {i: float(net.weights(step, 1 + i)) for i in (0, 1)}
            case "MaxPool":
                type, kernel = "Pooling", a["kernel_shape"][0]
                mode = 0 if a["ceil_mode"] else 1
                params = {0: 0, 1: kernel, 2: a["strides"][0], 3: step.pad, 5: mode}
            case "AdaptivePool":
                type, params = "Pooling", {0: 1, 7: 1, 8: a["size"][1], 18: a["size"][0]}
            case "GlobalAveragePool":
                type, params = "Pooling", {0: 1, 4: 1}
            case "ReduceMean":
                type, params = "Reduction", {0: 3, 1: 0, 3: [1, 2], 4: 0, 5: 1}
            case "Gemm":
                type, params = "InnerProduct", {0: len(weight), 1: 1, 2: weight.size}
            case "Softmax":
                params = {0: 0, 1: 1}
            case "Add":
                type, params = "BinaryOp", {0: 0}
            case "Concat":
                params = {0: 0}
            case "Slice":
                type, params = "Crop", {9: [a["begin"]], 10: [_NONE], 11: [0]}
            case "Reshape":
                params = {0: -1}
            case "Resize":
                type, params = "Interp", {0: 1, 1: 2.0, 2: 2.0}
        lines.append(ncnn_writer.line(type, net.values(step), step.output, params))
    return ncnn_writer.write(folder, lines, weights)


def _pnnx(net: Description, folder: Path) -> Path:
    lines = [pnnx_writer.input_line("in", INPUT, net.shape)]
    archive: dict[str, Array] = {}
    for step in net.steps:
        a, weights = step.attributes, dict[str, Array]()
        type, params = (
            {
                "Relu": "F.relu",
                "Clip": "nn.ReLU6",
                "Dropout": "nn.Dropout",
                "GlobalAveragePool": "nn.AdaptiveAvgPool2d",
                "AdaptivePool": "nn.AdaptiveAvgPool2d",
                "Add": "pnnx.Expression",
            }.get(step.kind, step.kind),
            dict[str, Any](),
        )
        match step.kind:
            case "Conv" | "Gemm":
                weights = {"weight": net.weights(step, 1)}
                weights |= {"bias": net.weights(step, 2)} if len(step.inputs) > 2 else {}
                type, params = "nn.Linear", {"bias": True}
                if step.kind == "Conv":
                    padding = "same" if "auto_pad" in a else (step.pad, step.pad)
                    params = {"stride": a["strides"], "padding": padding, "groups": a["group"]}
                    params |= {"bias": len(step.inputs) > 2, "dilation": (1, 1)}
                    type = "nn.Conv2d"
            case "BatchNormalization":
                names = ("weight", "bias", "running_mean", "running_var")
                weights = {name: net.weights(step, i) for i, name in enumerate(names, 1)}
                type, params = "nn.BatchNorm2d", {"eps": a["epsilon"]}
            case "MaxPool":
                params = {"kernel_size": a["kernel_shape"], "stride": a["strides"]}
                params |= {"padding": (step.pad,) * 2, "ceil_mode": bool(a["ceil_mode"])}
                type = "nn.MaxPool2d"
            case "AdaptivePool" | "GlobalAveragePool":
                params = {"output_size": a.get("size", (1, 1))}
            case "Flatten":
                type, params = "torch.flatten", {"start_dim": 1, "end_dim": -1}
            case "ReduceMean":
                type, params = "torch.mean", {"dim": (2, 3), "keepdim": False}
            case "Softmax" | "Concat":
                type = "F.softmax" if step.kind == "Softmax" else "torch.cat"
                params = {"dim": 1}
            case "Add":
                params = {"expr": "add(@0,@1)"}
            case "Slice":
                params = {"dim": 1, "start": a["begin"], "end": None, "step": 1}
                type = "Tensor.slice"
            case "Reshape":
                type, params = "Tensor.reshape", {"shape": (net.shape[0], -1)}
            case "Resize":
                type, params = "nn.Upsample", {"scale_factor": (2.0, 2.0), "mode": "nearest"}
        line = (type, step.output, net.values(step), step.output)
        lines.append(pnnx_writer.line(*line, params, weights=weights))
        archive |= {f"{step.output}.{name}": value for name, value in weights.items()}
    return pnnx_writer.write(folder, [*lines, pnnx_writer.output_line("out", net.result)], archive)


def _caffe(net: Description, folder: Path) -> Path:
    """Activations and normalizations work in place, as they do in published networks."""
    text, blobs = caffe_writer.head({INPUT: net.shape}), dict[str, list[Array]]()
    names = {INPUT: INPUT}  # the blob of each value
    for step in net.steps:
        a, type, param = step.attributes, step.kind, ""
        bottoms = [names[value] for value in net.values(step).split()]
        in_place = step.kind in ("BatchNormalization", "Relu", "Clip", "Dropout")
        names[step.output] = top = bottoms[0] if in_place else step.output
        match step.kind:
            case "Conv" | "Gemm":
                values = [net.weights(step, i) for i in range(1, len(step.inputs))]
                blobs[step.output] = values
                numbers = f"num_output: {len(values[0])} bias_term: {str(len(values) > 1).lower()}"
                type, param = "InnerProduct", f"inner_product_param {{ {numbers} }}"
                if step.kind == "Conv":
                    numbers += f" kernel_size: {values[0].shape[2]} stride: {a['strides'][0]}"
                    numbers += f" pad: {step.pad} group: {a['group']}"
                    type, param = "Convolution", f"convolution_param {{ {numbers} }}"
            case "BatchNormalization":
                scale, shift, mean, variance = (net.weights(step, i) for i in range(1, 5))
                param = f"batch_norm_param {{ eps: {a['epsilon']} }}"
                blobs[f"{step.output}.norm"] = [mean, variance, np.ones(1, np.float32)]
                text += caffe_writer.layer("BatchNorm", top, top, param, name=f"{step.output}.norm")
                blobs[step.output] = [scale, shift]
                type, param = "Scale", "scale_param { bias_term: true }"
            case "Relu":
                type = "ReLU"
            case "Clip":
                type = "ReLU6"
            case "MaxPool" | "AdaptivePool" | "GlobalAveragePool":
                numbers = "pool: AVE global_pooling: true"
                if step.kind == "MaxPool":
                    rounding = "CEIL" if a["ceil_mode"] else "FLOOR"
                    numbers = f"kernel_size: {a['kernel_shape'][0]} stride: {a['strides'][0]}"
                    numbers += f" pad: {step.pad} round_mode: {rounding}"
                elif window := "size" in a and _window(step):
                    numbers = f"pool: AVE kernel_size: {window} stride: {window}"
                type, param = "Pooling", f"pooling_param {{ {numbers} }}"
            case "ReduceMean":
                type, param = "Reduction", "reduction_param { operation: MEAN axis: 2 }"
            case "Add":
                type = "Eltwise"
            case "Reshape":
                param = "reshape_param { shape { dim: 0 dim: -1 } }"
            case "Resize":
                type = "Upsample"
        text += caffe_writer.layer(type, " ".join(bottoms), top, param, name=step.output)
    return caffe_writer.write(folder, text, blobs)


def _paddle(net: Description, folder: Path) -> Path:
    """The fused forms of Paddle's optimizer: fc instead of mul and elementwise_add."""
    writer = paddle_writer.Net(feeds={INPUT: np.zeros(net.shape, np.float32)}, fetches=[net.result])
    for step in net.steps:
        a, constants = step.attributes, [name for name in step.inputs if name in net.constants]
        weights, slots = list[str](), {"X": net.values(step)}
        out, attributes = "Out", dict[str, Any]()
        type = {"Clip": "relu6", "Add": "elementwise_add"}.get(step.kind, step.kind.lower())
        match step.kind:
            case "Conv":
                type, weights, out = "conv2d", ["Filter", "Bias"], "Output"
                slots = {"Input": net.values(step)}
                attributes = {"strides": a["strides"], "groups": a["group"]}
                attributes |= {"paddings": [step.pad] * 2, "dilations": [1, 1]}
                attributes |= {"padding_algorithm": "SAME" if "auto_pad" in a else "EXPLICIT"}
            case "Add":
                slots = dict(zip("XY", step.inputs, strict=True))
            case "BatchNormalization":
                type, weights, out = "batch_norm", ["Scale", "Bias", "Mean", "Variance"], "Y"
                attributes = {"epsilon": a["epsilon"], "is_test": True}
            case "MaxPool":
                type, attributes = "pool2d", {"pooling_type": "max", "ksize": a["kernel_shape"]}
                attributes |= {"strides": a["strides"], "paddings": [step.pad] * 2}
                attributes |= {"ceil_mode": bool(a["ceil_mode"])}
            case "AdaptivePool" | "GlobalAveragePool":
                type, attributes = "pool2d", {"pooling_type": "avg", "adaptive": True}
                attributes |= {"ksize": list(a.get("size", (1, 1)))}
            case "Flatten":
                type = "flatten_contiguous_range"
                attributes = {"start_axis": 1, "stop_axis": -1}
            case "ReduceMean":
                type, attributes = "reduce_mean", {"dim": [2, 3], "keep_dim": False}
            case "Gemm":
                type, weights, slots = "fc", ["W", "Bias"], {"Input": net.values(step)}
            case "Softmax" | "Concat":
                attributes = {"axis": 1}
            case "Dropout":
                attributes = {"dropout_implementation": "upscale_in_train", "is_test": True}
            case "Slice":
                slots = {"Input": net.values(step)}
                attributes = {"axes": [1], "starts": [a["begin"]], "ends": [_LAST]}
            case "Reshape":
                type, attributes = "reshape2", {"shape": [0, -1]}
            case "Resize":
                type = "nearest_interp_v2"
                attributes = {"scale": [2.0, 2.0], "align_corners": False}
        for name in constants if weights else ():
            value = net.constants[name]
            writer.parameters[name] = value.T if (step.kind, value.ndim) == ("Gemm", 2) else value
        slots |= dict(zip(weights, constants, strict=False))
        writer.add(type, slots, {out: step.output}, **attributes)
    return writer.write(folder)


FORMATS: dict[str, Callable[[Description, Path], Path]] = {
    "onnx": _onnx,
    "ncnn": _ncnn,
    "pnnx": _pnnx,
    "caffe": _caffe,
    "paddle": _paddle,
}
