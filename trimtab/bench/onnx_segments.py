"""Runs an ONNX model in segments: onnxruntime does not know the operators of plug-ins.

Nodes of one kind, standard or custom, whose operands are known are a segment: a model of its own,
which the engine of that kind runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import onnx
from numpy.typing import NDArray
from onnx import helper, inliner, numpy_helper

Array = NDArray[Any]
Compute = Callable[[onnx.ModelProto, Mapping[str, Array]], Sequence[Array]]
"""The outputs of a model for these inputs."""


@dataclass(frozen=True)
class CustomNodes:
    """Nodes that onnxruntime cannot run: which ones, what computes them, and its name."""

    contains: Callable[[onnx.NodeProto], bool]
    compute: Compute
    oracle: str


def has_custom_nodes(model: onnx.ModelProto, custom: CustomNodes) -> bool:
    """Whether any node of the graph or of a function is custom."""
    bodies = (model.graph.node, *(function.node for function in model.functions))
    return any(custom.contains(node) for nodes in bodies for node in nodes)


def run(
    model: onnx.ModelProto, feed: Mapping[str, Array], custom: CustomNodes, compute: Compute
) -> list[Array]:
    """The outputs of `model`, whose nodes may have any order. `compute` runs the standard ones.
    ValueError for a node whose operands nothing computes.
    """
    if model.functions:
        model = inliner.inline_local_functions(model)
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    fixed = {*values}  # names that do not depend on the inputs
    values.update(feed)
    outputs = [output.name for output in model.graph.output]
    pending = [*model.graph.node]
    while pending:
        count = len(pending)
        for kind, engine in ((False, compute), (True, custom.compute)):
            segment = _ready(pending, values, custom, kind)
            later = {name for node in pending for name in _reads(node)} | {*outputs}
            names = [name for node in segment for name in node.output if name in later]
            if names:
                part = _part(model, segment, values, fixed, names)
                inputs = {info.name: values[info.name] for info in part.graph.input}
                values.update(zip(names, engine(part, inputs), strict=True))
            for node in segment:
                fixed.update(node.output if fixed.issuperset(_reads(node)) else ())
        if len(pending) == count:
            raise ValueError(f"nothing computes the operands of {pending[0].op_type}")
    return [values[name] for name in outputs]


def _ready(
    pending: list[onnx.NodeProto], values: Mapping[str, Array], custom: CustomNodes, kind: bool
) -> list[onnx.NodeProto]:
    """Removes the nodes of a kind that can run from `pending`, in an order in which they can."""
    missing = {name for node in pending for name in node.output} - values.keys()
    ready: list[onnx.NodeProto] = []
    count = -1
    while count != len(ready):  # once more after the last pass that found one
        count = len(ready)
        for node in [node for node in pending if custom.contains(node) == kind]:
            if missing.isdisjoint(_reads(node)):
                ready.append(node)
                pending.remove(node)
                missing.difference_update(node.output)
    return ready


def _reads(node: onnx.NodeProto) -> Iterator[str]:
    """The names that a node reads, in its branches as well."""
    yield from filter(None, node.input)
    for attribute in node.attribute:
        for graph in (*attribute.graphs, attribute.g):
            for inner in graph.node:
                yield from _reads(inner)
            yield from (output.name for output in graph.output)


def _part(
    model: onnx.ModelProto,
    nodes: Sequence[onnx.NodeProto],
    values: Mapping[str, Array],
    fixed: set[str],
    names: Sequence[str],
) -> onnx.ModelProto:
    """A model of these nodes with the outputs `names`; operands in `fixed` are constants."""
    used = {name for node in nodes for name in _reads(node)} & values.keys()
    constants = [numpy_helper.from_array(values[name], name) for name in sorted(used & fixed)]
    inputs = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(values[name].dtype), values[name].shape
        )
        for name in sorted(used - fixed)
    ]
    results = [helper.make_empty_tensor_value_info(name) for name in names]
    graph = helper.make_graph(nodes, model.graph.name, inputs, results, constants)
    return helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
