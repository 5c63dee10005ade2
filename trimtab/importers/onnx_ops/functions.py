"""Operators that ONNX defines by simpler ones: the nodes of their function bodies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import defs, helper, inliner

from trimtab.importers._graph import Operand, Value
from trimtab.importers.onnx_ops.node import HANDLERS, OnnxNode
from trimtab.program.block import NUMPY_DTYPES

# Operators whose handlers compute all outputs; others compute the first one.
_COMPLETE = ("DynamicQuantizeLinear",)


def body(
    node: OnnxNode, proto: onnx.NodeProto, values: Mapping[str, Operand]
) -> Sequence[onnx.NodeProto]:
    """The nodes that compute a node which has no handler, or of which more than the first output is
    read; empty if ONNX does not define its operator by others.

    Their inner values are named after the node. `values`: its inputs.
    """
    has_more = any(node.uses_output(i) for i in range(1, len(proto.output)))
    if node.type in HANDLERS and (not has_more or node.type in _COMPLETE):
        return ()
    try:
        schema = _schema(node, proto)
        function = _function(schema, proto, values) if schema else None
        nodes = _inlined(schema, proto, function, values) if function else []
    except Exception:  # a node that violates its operator's rules: many kinds are raised
        return ()
    _rename(nodes, {"", *proto.input, *proto.output}, f"{node.name}.")
    return nodes


def _schema(node: OnnxNode, proto: onnx.NodeProto) -> Any:
    """ONNX's schema of a node's operator; None if it is not one of ONNX's."""
    version = node.versions.get(node.domain)
    if version is None or not defs.has(proto.op_type, node.domain):
        return None
    return defs.get_schema(proto.op_type, version, node.domain)


def _function(
    schema: Any, proto: onnx.NodeProto, values: Mapping[str, Operand]
) -> onnx.FunctionProto | None:
    """ONNX's definition of a node's operator by others; None if there is none."""
    function = onnx.FunctionProto()
    if schema.function_opset_versions:
        function.ParseFromString(schema.function_body.SerializeToString())
        return function
    if not schema.context_dependent_function_opset_versions:
        return None
    types = [_info(name, values[name]).type if name else onnx.TypeProto() for name in proto.input]
    text = schema.get_context_dependent_function(
        proto.SerializeToString(), [type.SerializeToString() for type in types]
    )
    function.ParseFromString(text)
    return function


def _inlined(
    schema: Any, proto: onnx.NodeProto, function: onnx.FunctionProto, values: Mapping[str, Operand]
) -> Sequence[onnx.NodeProto]:
    """The nodes of the function, called by the node."""
    call = onnx.NodeProto()
    call.CopyFrom(proto)
    call.domain = function.domain = "body"
    function.name = proto.op_type
    versions = {entry.domain: entry.version for entry in function.opset_import}
    opset = versions.get("") or defs.onnx_opset_version()
    present = {attribute.name for attribute in proto.attribute}
    defaults = schema.attributes
    call.attribute.extend(
        attribute.default_value
        for name, attribute in defaults.items()
        if name not in present and attribute.default_value.name
    )
    graph = helper.make_graph(
        [call],
        "node",
        [_info(name, values[name]) for name in dict.fromkeys(proto.input) if name],
        [helper.make_empty_tensor_value_info(name) for name in proto.output if name],
    )
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("body", 1)]
    model = helper.make_model(graph, opset_imports=imports, functions=[function])
    return list(inliner.inline_local_functions(model).graph.node)


def _info(name: str, value: Operand) -> onnx.ValueInfoProto:
    dtype = np.dtype(NUMPY_DTYPES[value.dtype] if isinstance(value, Value) else value.dtype)
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), value.shape)


def _rename(nodes: Sequence[onnx.NodeProto], outer: set[str], prefix: str) -> None:
    """Puts `prefix` before the names of nodes and of all values but the outer ones."""
    for i, node in enumerate(nodes):
        node.name = f"{prefix}{i}"
        for names in (node.input, node.output):
            names[:] = [name if name in outer else prefix + name for name in names]
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                _rename(graph.node, outer, prefix)
                for own in (*graph.input, *graph.output, *graph.initializer):
                    own.name = own.name if own.name in outer else prefix + own.name
