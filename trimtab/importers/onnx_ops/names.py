"""The names in an ONNX file, which protobuf hands out as bytes where they are no text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import onnx

from trimtab.errors import ModelFileError
from trimtab.importers.onnx_ops.order import subgraphs


def check_names(model: onnx.ModelProto, path: Path) -> None:
    """ModelFileError for a name that is not UTF-8."""
    for container in (model.graph, *model.functions):
        for name in _names(container):
            if isinstance(name, bytes):
                raise ModelFileError(
                    f"is damaged: the name {str(name)[1:]} is not UTF-8",
                    where=str(path),
                    hint="export it again with names of ASCII characters",
                )


def _names(container: onnx.GraphProto | onnx.FunctionProto) -> Iterator[str | bytes]:
    """The names of nodes, of their types and attributes, of values and of free dimensions."""
    for node in container.node:
        yield from (node.name, node.op_type, node.domain, *node.input, *node.output)
        yield from (attribute.name for attribute in node.attribute)
    for graph in subgraphs(container.node):
        yield from _names(graph)
    if isinstance(container, onnx.FunctionProto):
        yield from (container.name, container.domain, *container.input, *container.output)
        return
    yield from (tensor.name for tensor in container.initializer)
    yield from (tensor.values.name for tensor in container.sparse_initializer)
    for info in (*container.input, *container.output):
        yield info.name
        yield from (one.dim_param for one in info.type.tensor_type.shape.dim)
