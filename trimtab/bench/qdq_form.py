"""Two forms of a quantized ONNX model that onnxruntime computes by what the model says.

Beside convolutions, products and what moves bytes, whose results follow from exact sums, a
quantized network has operators that ONNX defines on real numbers, between integers. onnxruntime
fuses them, or the file has them, as operators of com.microsoft, each with a way of its own to
round. One of those is no rounding: QLinearSoftmax takes the whole part of 1 / (scale of the result)
for it, 254 for 1/255 in float32, so that large probabilities are a step too small.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import helper, numpy_helper

from trimtab.bench import golden

_MICROSOFT = "com.microsoft"
_FIRST_QUANTIZED = 10  # the opset that has QuantizeLinear
_FIRST_ALONG_AXIS = 13  # the opset of Softmax from which on it is along one axis


@dataclass(frozen=True)
class _Real:
    """The operator on real numbers, of so many operands, that one on integers stands for."""

    type: str
    operands: int = 1


_SOFTMAX = {"QLinearSoftmax": _Real("Softmax")}
_ROUNDED = _SOFTMAX | {
    "QLinearAdd": _Real("Add", 2),
    "QLinearMul": _Real("Mul", 2),
    "QLinearSigmoid": _Real("Sigmoid"),
    "QLinearLeakyRelu": _Real("LeakyRelu"),
    "QLinearAveragePool": _Real("AveragePool"),
    "QLinearGlobalAveragePool": _Real("GlobalAveragePool"),
}


def is_quantized(model: onnx.ModelProto) -> bool:
    """Whether integers with a scale are computed in it, or come into it."""
    constants = {tensor.name for tensor in model.graph.initializer}
    return any(
        node.op_type in ("QuantizeLinear", "QGemm")
        or node.op_type.startswith("QLinear")
        or (node.op_type == "DequantizeLinear" and node.input[0] not in constants)
        for node in model.graph.node
    )


def last_steps(model: onnx.ModelProto) -> list[float]:
    """What a step of the integers is worth that each output is made of last; 0 without any."""
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    steps = golden.last_steps(
        (output.name for output in model.graph.output),
        ((node.input, node.output, _step(node, constants)) for node in model.graph.node),
    )
    bytes_ = (onnx.TensorProto.INT8, onnx.TensorProto.UINT8)
    types = [output.type.tensor_type.elem_type for output in model.graph.output]
    integers = [is_quantized(model) and type in bytes_ for type in types]
    return [1.0 if of else step for of, step in zip(integers, steps, strict=True)]


def _step(node: onnx.NodeProto, constants: Mapping[str, onnx.TensorProto]) -> float:
    if node.op_type != "DequantizeLinear" or node.input[0] in constants:
        return 0.0
    scale = constants.get(node.input[1])
    return float(np.max(numpy_helper.to_array(scale))) if scale is not None else 0.0


def with_real_softmax(model: onnx.ModelProto) -> onnx.ModelProto:
    """`model`, with softmax on real numbers under any optimization; outputs come at the end."""
    return _kept_apart(_written_out(model, _SOFTMAX), ("Softmax",))


def in_real_numbers(model: onnx.ModelProto) -> onnx.ModelProto:
    """`model`, with operators on real numbers in place of those on integers that round their own
    way; only without optimizations it stays so.
    """
    return _written_out(model, _ROUNDED)


def _written_out(model: onnx.ModelProto, types: dict[str, _Real]) -> onnx.ModelProto:
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    opset = max((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), default=0)
    del changed.graph.node[:]
    for node in model.graph.node:
        known = node.domain == _MICROSOFT and opset >= _FIRST_QUANTIZED
        real = types.get(node.op_type) if known else None
        changed.graph.node.extend(_between(node, real, opset) if real else [node])
    return changed


def _between(node: onnx.NodeProto, real: _Real, opset: int) -> list[onnx.NodeProto]:
    """`node` as the operator `real` between DequantizeLinear and QuantizeLinear, or as it is: where
    nothing says what its integers are, or ONNX has no such operator.
    """
    operands = [list(node.input[i : i + 3]) for i in range(0, 3 * real.operands, 3)]
    result = list(node.input[3 * real.operands : 3 * real.operands + 2])
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    if not all(operand[2:] and operand[2] for operand in operands) or not (
        result[1:] and result[1]
    ):
        return [node]
    if attributes.pop("channels_last", 0):
        return [node]
    y = node.output[0]
    names = [f"{y}/operand {i}" for i in range(real.operands)]
    nodes = [
        helper.make_node("DequantizeLinear", operand, [name])
        for operand, name in zip(operands, names, strict=True)
    ]
    if real.type != "Softmax":
        nodes.append(helper.make_node(real.type, names, [f"{y}/real"], **attributes))
    elif attributes.get("opset", _FIRST_ALONG_AXIS) < _FIRST_ALONG_AXIS:
        nodes += _over_the_rest(names[0], attributes.get("axis", -1), f"{y}/real")
    elif opset < _FIRST_ALONG_AXIS:
        return [node]
    else:
        nodes.append(
            helper.make_node("Softmax", names, [f"{y}/real"], axis=attributes.get("axis", -1))
        )
    return [*nodes, helper.make_node("QuantizeLinear", [f"{y}/real", *result], [y])]


def _over_the_rest(x: str, axis: int, y: str) -> list[onnx.NodeProto]:
    """Softmax over all dimensions from `axis` on, which any opset says of a matrix."""
    return [
        helper.make_node("Shape", [x], [f"{y}/shape"]),
        helper.make_node("Flatten", [x], [f"{y}/matrix"], axis=axis),
        helper.make_node("Softmax", [f"{y}/matrix"], [f"{y}/rows"], axis=1),
        helper.make_node("Reshape", [f"{y}/rows", f"{y}/shape"], [y]),
    ]


def _kept_apart(model: onnx.ModelProto, types: Collection[str]) -> onnx.ModelProto:
    """`model`, in whose results of `types` somebody is interested: they are not fused then."""
    outputs = {output.name for output in model.graph.output}
    for node in model.graph.node:
        if node.op_type in types and node.output[0] not in outputs:
            model.graph.output.append(helper.make_empty_tensor_value_info(node.output[0]))
    return model
