"""ONNX files: reads and checks a model, and the declarations of its graph."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import helper, inliner, numpy_helper
from onnx.external_data_helper import load_external_data_for_model, uses_external_data

from trimtab.errors import ImportModelError, ModelFileError
from trimtab.importers._graph import Array
from trimtab.importers.onnx_ops.names import check_names
from trimtab.importers.onnx_ops.node import DTYPE_NAMES, dtype_name, type_name
from trimtab.importers.onnx_ops.weights import split
from trimtab.program import MAX_ELEMENTS

OLDEST_OPSET = 6

# Limits for the expansion of functions.
_MAX_NODES = 100_000  # with functions inlined, constants included; see MAX_LAYERS
_MAX_CALL_DEPTH = 100

# github.com/onnx/onnx, docs/MetadataProps.md
PIXEL_RANGES = {
    "NominalRange_0_255": (0.0, 255.0),
    "Normalized_0_1": (0.0, 1.0),
    "Normalized_1_1": (-1.0, 1.0),
    "NominalRange_16_235": (16.0, 235.0),
}

# Of onnx for external data: RuntimeError for names that the operating system refuses.
_UNREADABLE = (OSError, RuntimeError, ValueError, onnx.checker.ValidationError)

Call = tuple[str, str, str]
"""Domain, name and overload of a function."""


@dataclass(frozen=True)
class OnnxFile:
    """The content of a file. `weights`: flat elements of initializers that `model` lacks, by
    index.
    """

    model: onnx.ModelProto
    weights: Mapping[int, Array]


def read(path: Path) -> OnnxFile:
    """The content of the file at `path`; ModelFileError if it is not an ONNX model, or has a name
    that is not text.

    Initializers in other files stay there: `constants` reads them, so that memory holds them once.
    """
    weights: Mapping[int, Array] = {}
    try:
        if divided := split(path):
            model, weights = onnx.ModelProto.FromString(divided.proto), divided.weights
        if not divided or model.functions:  # functions are inlined by the library
            model, weights = onnx.load_model(path, load_external_data=False), {}
        initializers = [*filter(uses_external_data, model.graph.initializer)]
        if initializers:
            initializers = [*model.graph.initializer]
            del model.graph.initializer[:]
        for tensor in (*initializers, *_tensors_of(model)):
            _bound(tensor, str(path))
        load_external_data_for_model(model, str(path.parent))  # those of nodes and subgraphs
        model.graph.initializer.extend(initializers)
    except DecodeError as error:
        raise _no_model(path) from error
    except _UNREADABLE as error:
        raise _unreadable(error, str(path)) from error
    if not (model.ir_version and model.graph.output):
        raise _no_model(path, ": it has no graph")
    if not model.opset_import:
        raise ModelFileError(
            "does not declare the opset of its operators (opset_import is empty)",
            where=str(path),
            hint="export it again, or add what it was made with, for example"
            " model.opset_import.append(onnx.helper.make_opsetid('', 17))",
        )
    check_names(model, path)
    return OnnxFile(model, weights)


def _tensors_of(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """The tensors among the attributes of nodes, also of subgraphs and functions."""

    def of(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.TensorProto]:
        for attribute in (one for node in nodes for one in node.attribute):
            yield attribute.t
            yield from attribute.tensors
            for graph in (attribute.g, *attribute.graphs):
                yield from graph.initializer
                yield from of(graph.node)

    for nodes in (model.graph.node, *(function.node for function in model.functions)):
        yield from of(nodes)


def _bound(tensor: onnx.TensorProto, where: str) -> None:
    """Declares the length of a tensor's external data if the file does not: onnx would read
    everything behind their offset. ModelFileError for more data than the engine takes.
    """
    if not uses_external_data(tensor):
        return
    elements = math.prod(max(size, 0) for size in tensor.dims)
    if elements > MAX_ELEMENTS:
        raise ModelFileError(
            f"tensor '{tensor.name}' has {elements:,} elements, the limit is {MAX_ELEMENTS:,}",
            where=where,
            hint="check where it is from: no network that runs here has so many",
        )
    if any(entry.key == "length" for entry in tensor.external_data):
        return
    try:
        dtype = helper.tensor_dtype_to_np_dtype(tensor.data_type)
    except KeyError:
        return  # `array` refuses it
    packed = re.fullmatch(r"u?int([24])|float(4).*", dtype.name)  # bits: several in a byte
    bits = int(packed[1] or packed[2]) if packed else 8 * dtype.itemsize
    tensor.external_data.add(key="length", value=str((elements * bits + 7) // 8))


def _unreadable(error: Exception, where: str) -> ModelFileError:
    what = getattr(error, "strerror", None) or str(error).splitlines()[0][:300]
    return ModelFileError(
        f"cannot be read: {what}",
        where=where,
        hint="put its external data files beside it, under their original names",
    )


def _no_model(path: Path, reason: str = "") -> ModelFileError:
    what = f"is not an ONNX model, or is truncated{reason}"
    return ModelFileError(what, where=str(path), hint="export it or copy it again")


def expanded(model: onnx.ModelProto, path: Path) -> onnx.GraphProto:
    """The graph of a model with its functions inlined."""
    if not model.functions:
        return model.graph
    _check_size(model, path)
    try:
        return inliner.inline_local_functions(model).graph
    except Exception as error:
        raise ImportModelError(
            f"its functions cannot be inlined: {error}",
            where=str(path),
            hint="export it with functions expanded",
        ) from error


def _check_size(model: onnx.ModelProto, path: Path) -> None:
    """ImportModelError if the functions are recursive or expand to too many nodes."""
    functions = {(f.domain, f.name, f.overload): f for f in model.functions}
    counts: dict[Call, int] = {}
    calling: list[Call] = []

    def count(nodes: Iterable[onnx.NodeProto]) -> int:
        return sum(of_node(node) for node in nodes)

    def of_node(node: onnx.NodeProto) -> int:
        call = node.domain, node.op_type, node.overload
        inner = sum(count(g.node) for a in node.attribute for g in (a.g, *a.graphs))
        if call not in functions:
            return inner + 1
        if call not in counts:
            if call in calling or len(calling) == _MAX_CALL_DEPTH:
                raise ImportModelError(
                    f"its function '{node.op_type}' calls itself, or too many others in turn",
                    where=str(path),
                    hint="export it with functions expanded",
                )
            calling.append(call)
            counts[call] = count(functions[call].node)
            calling.pop()
        return inner + counts[call]

    if (total := count(model.graph.node)) > _MAX_NODES:
        raise ImportModelError(
            f"its functions expand to {total:,} nodes, the limit is {_MAX_NODES:,}",
            where=str(path),
            hint="check where it is from: no known network has so many",
        )


def opsets(model: onnx.ModelProto, path: Path) -> Mapping[str, int]:
    """The opset version of each domain; "" is that of the standard operators."""
    versions = {entry.domain: entry.version for entry in model.opset_import}
    newest = onnx.defs.onnx_opset_version()
    # A model with other domains only has no standard operators: all its nodes are unsupported.
    version = versions.get("", versions.get("ai.onnx", newest))
    if not OLDEST_OPSET <= version <= newest:
        raise ImportModelError(
            f"opset {version} is not supported, {OLDEST_OPSET} to {newest} are",
            where=str(path),
            hint="convert it: onnx.version_converter.convert_version(model, 17)",
        )
    return {**versions, "": int(version)}


def pixel_range(model: onnx.ModelProto) -> tuple[float, float] | None:
    """The declared range of the elements of pictures; None if the model declares none."""
    declared = {entry.key: entry.value for entry in model.metadata_props}
    return PIXEL_RANGES.get(declared.get("Image.NominalPixelRange", ""))


def constants(
    graph: onnx.GraphProto,
    where: str,
    folder: Path | None = None,
    weights: Mapping[int, Array] = MappingProxyType({}),
) -> dict[str, Array]:
    """The dense initializers of a graph by name; `folder` has those in other files, `weights` the
    elements of those that lack them, by index.
    """
    return {
        tensor.name: array(
            tensor, f"{where}: initializer '{tensor.name}'", folder, weights.get(index)
        )
        for index, tensor in enumerate(graph.initializer)
    }


def array(
    tensor: onnx.TensorProto, where: str, folder: Path | None = None, flat: Array | None = None
) -> Array:
    """The elements of a tensor, or `flat` in its shape; ModelFileError if they do not match its
    type and shape, or their file in `folder` cannot be read.
    """
    try:
        if flat is not None:
            return flat.reshape(tuple(tensor.dims))
        return numpy_helper.to_array(tensor, str(folder or ""))
    except (OSError, RuntimeError, onnx.checker.ValidationError) as error:
        raise _unreadable(error, where) from error
    except (ValueError, TypeError, KeyError) as error:
        name = type_name(tensor.data_type)
        raise ModelFileError(
            f"is damaged: its data are not {list(tensor.dims)} elements of type {name}",
            where=where,
            hint="export it or copy it again, with its external data",
        ) from error


def dense(sparse: onnx.SparseTensorProto, where: str) -> Array:
    """The elements of a sparse tensor, which lists those that are not 0, with their indices: one
    per element in the flattened tensor, or one per dimension.
    """
    values, indices = array(sparse.values, where), array(sparse.indices, where)
    shape = tuple(sparse.dims)
    if indices.ndim == 2 and indices.shape[1] == len(shape):
        strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
        inside = np.all((indices >= 0) & (indices < shape))
        indices = indices @ np.array(strides, np.int64)
    else:
        inside = np.all((indices >= 0) & (indices < math.prod(shape)))
    if not inside or indices.shape != values.shape or values.ndim != 1:
        raise ModelFileError(
            "is damaged: its indices do not match its values and its shape",
            where=where,
            hint="export it or copy it again",
        )
    elements = np.zeros(math.prod(shape), values.dtype)
    elements[indices] = values
    return elements.reshape(shape)


def dense_bytes(sparse: onnx.SparseTensorProto) -> int:
    """The bytes of a sparse tensor as `dense` returns it; 0 if it has an unknown type."""
    if sparse.values.data_type not in onnx.TensorProto.DataType.values():
        return 0
    dtype = helper.tensor_dtype_to_np_dtype(sparse.values.data_type)
    return int(math.prod(max(size, 0) for size in sparse.dims) * dtype.itemsize)


def input_dtype(info: onnx.ValueInfoProto, path: Path) -> str:
    """The engine's dtype of an input."""
    elem_type = info.type.tensor_type.elem_type
    name = dtype_name(elem_type)
    if name is None or not info.type.HasField("tensor_type"):
        holds = f", it holds {type_name(elem_type)}" if elem_type else ""
        raise ImportModelError(
            f"input '{info.name}' is not a tensor of {', '.join(DTYPE_NAMES.values())}{holds}",
            where=str(path),
            hint="export the model with another input type",
        )
    return name


def output_dtype(info: onnx.ValueInfoProto, path: Path) -> str:
    """The engine's dtype of an output, "" if the file does not tell; ImportModelError if the engine
    lacks its type.
    """
    elem_type = info.type.tensor_type.elem_type
    name = type_name(elem_type)
    if elem_type and name not in DTYPE_NAMES:
        raise ImportModelError(
            f"output '{info.name}' holds {name}, which the engine cannot return",
            where=str(path),
            hint=f"export the model with outputs of {', '.join(DTYPE_NAMES.values())}",
        )
    return DTYPE_NAMES.get(name, "")


def declared_shape(info: onnx.ValueInfoProto) -> list[int | str | None] | None:
    """The shape of an input: sizes, and names or None for free dimensions."""
    if not info.type.tensor_type.HasField("shape"):
        return None
    return [
        dim.dim_value if dim.HasField("dim_value") and dim.dim_value > 0 else dim.dim_param or None
        for dim in info.type.tensor_type.shape.dim
    ]
