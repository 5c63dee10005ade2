"""Rewrites quantized ONNX models so that onnxruntime computes what their definition says.

Convolutions, matrix multiplications and data movement have exact integer results. Other operators
of a quantized network are defined on dequantized float32 values. onnxruntime fuses those, or the
file already has them, as operators of the domain com.microsoft, each of which rounds differently.
QLinearSoftmax even truncates: it uses the integer part of 1 / (output scale), 254 for 1/255 in
float32, so that large probabilities are one quantization step too small.

QDQ form means DequantizeLinear, the float32 operator, QuantizeLinear.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import helper, numpy_helper

from trimtab.bench import golden

_MICROSOFT = "com.microsoft"
_FIRST_QUANTIZED = 10  # the first opset with QuantizeLinear
_FIRST_ALONG_AXIS = 13  # the first opset whose Softmax is along one axis


@dataclass(frozen=True)
class _FloatOperator:
    """The float32 operator that a quantized operator stands for, and its number of operands."""

    type: str
    operands: int = 1


_SOFTMAX = {"QLinearSoftmax": _FloatOperator("Softmax")}
_QUANTIZED = _SOFTMAX | {
    "QLinearAdd": _FloatOperator("Add", 2),
    "QLinearMul": _FloatOperator("Mul", 2),
    "QLinearSigmoid": _FloatOperator("Sigmoid"),
    "QLinearLeakyRelu": _FloatOperator("LeakyRelu"),
    "QLinearAveragePool": _FloatOperator("AveragePool"),
    "QLinearGlobalAveragePool": _FloatOperator("GlobalAveragePool"),
}


def is_quantized(model: onnx.ModelProto) -> bool:
    """Whether the model computes quantized values, or has quantized inputs."""
    constants = {tensor.name for tensor in model.graph.initializer}
    return any(
        node.op_type in ("QuantizeLinear", "QGemm")
        or node.op_type.startswith("QLinear")
        or (node.op_type == "DequantizeLinear" and node.input[0] not in constants)
        for node in model.graph.node
    )


def output_scales(model: onnx.ModelProto) -> list[float]:
    """For each output the scale of the last quantized values that it depends on; 0 without any."""
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    scales = golden.output_scales(
        (output.name for output in model.graph.output),
        (
            (node.input, node.output, _dequantized_scale(node, constants))
            for node in model.graph.node
        ),
    )
    int8_types = (onnx.TensorProto.INT8, onnx.TensorProto.UINT8)
    types = [output.type.tensor_type.elem_type for output in model.graph.output]
    are_int8 = [is_quantized(model) and type in int8_types for type in types]
    return [1.0 if is_int8 else scale for is_int8, scale in zip(are_int8, scales, strict=True)]


def _dequantized_scale(node: onnx.NodeProto, constants: Mapping[str, onnx.TensorProto]) -> float:
    if node.op_type != "DequantizeLinear" or node.input[0] in constants:
        return 0.0
    scale = constants.get(node.input[1])
    return float(np.max(numpy_helper.to_array(scale))) if scale is not None else 0.0


def with_float_softmax(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with float32 softmax under any optimization; appends outputs."""
    return _protected_from_fusion(_rewritten(model, _SOFTMAX), ("Softmax",))


def in_qdq_form(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model in QDQ form, without operators that round in their own way.

    Run it with optimizations off, since they fuse the form back into those operators.
    """
    return _rewritten(model, _QUANTIZED)


def _rewritten(model: onnx.ModelProto, types: dict[str, _FloatOperator]) -> onnx.ModelProto:
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    opset = max((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), default=0)
    del changed.graph.node[:]
    for node in model.graph.node:
        is_fused = node.domain == _MICROSOFT and opset >= _FIRST_QUANTIZED
        float_op = types.get(node.op_type) if is_fused else None
        changed.graph.node.extend(_qdq_nodes(node, float_op, opset) if float_op else [node])
    return changed


def _qdq_nodes(node: onnx.NodeProto, float_op: _FloatOperator, opset: int) -> list[onnx.NodeProto]:
    """The QDQ form of `node` with the float32 operator `real`.

    Unchanged if a scale or zero point is missing, or if ONNX has no such operator at this opset.
    """
    operands = [list(node.input[i : i + 3]) for i in range(0, 3 * float_op.operands, 3)]
    result = list(node.input[3 * float_op.operands : 3 * float_op.operands + 2])
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    if not all(operand[2:] and operand[2] for operand in operands) or not (
        result[1:] and result[1]
    ):
        return [node]
    if attributes.pop("channels_last", 0):
        return [node]
    y = node.output[0]
    names = [f"{y}/operand {i}" for i in range(float_op.operands)]
    nodes = [
        helper.make_node("DequantizeLinear", operand, [name])
        for operand, name in zip(operands, names, strict=True)
    ]
    if float_op.type != "Softmax":
        nodes.append(helper.make_node(float_op.type, names, [f"{y}/float"], **attributes))
    elif attributes.get("opset", _FIRST_ALONG_AXIS) < _FIRST_ALONG_AXIS:
        nodes += _softmax_of_flattened(names[0], attributes.get("axis", -1), f"{y}/float")
    elif opset < _FIRST_ALONG_AXIS:
        return [node]
    else:
        nodes.append(
            helper.make_node("Softmax", names, [f"{y}/float"], axis=attributes.get("axis", -1))
        )
    return [*nodes, helper.make_node("QuantizeLinear", [f"{y}/float", *result], [y])]


def _softmax_of_flattened(x: str, axis: int, y: str) -> list[onnx.NodeProto]:
    """Softmax over all dimensions from `axis` on: every opset defines it for a matrix."""
    return [
        helper.make_node("Shape", [x], [f"{y}/shape"]),
        helper.make_node("Flatten", [x], [f"{y}/matrix"], axis=axis),
        helper.make_node("Softmax", [f"{y}/matrix"], [f"{y}/rows"], axis=1),
        helper.make_node("Reshape", [f"{y}/rows", f"{y}/shape"], [y]),
    ]


def _protected_from_fusion(model: onnx.ModelProto, types: Collection[str]) -> onnx.ModelProto:
    """The model with the results of `types` as additional outputs, which prevents their fusion."""
    outputs = {output.name for output in model.graph.output}
    for node in model.graph.node:
        if node.op_type in types and node.output[0] not in outputs:
            model.graph.output.append(helper.make_empty_tensor_value_info(node.output[0]))
    return model
