"""ONNX models (opset 6 to the newest that the `onnx` package knows).

The file is read and checked here; `trimtab.importers.onnx_ops` turns nodes into operators. Format:
https://github.com/onnx/onnx/blob/main/docs/IR.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import onnx
from google.protobuf.message import DecodeError
from onnx import inliner, numpy_helper

from trimtab.errors import DynamicShapeError, ImportModelError, ModelFileError
from trimtab.importers.onnx_ops.graph import GraphImport
from trimtab.importers.onnx_ops.node import DTYPE_NAMES, Array, dtype_name
from trimtab.program import Program

if TYPE_CHECKING:
    from trimtab.importers import Shapes

SUFFIXES = (".onnx",)

OLDEST_OPSET = 6

# Fields of ModelProto that may follow ir_version, as protobuf tags: producer strings, domain, model
# version, documentation, graph, opset imports.
_SECOND_TAGS = frozenset(b"\x12\x1a\x22\x28\x32\x3a\x42")


def sniff(path: Path) -> bool:
    """A ModelProto starts with its ir_version, a small number, then another of its fields."""
    try:
        with path.open("rb") as file:
            head = file.read(3)
    except OSError:
        return False
    return len(head) == 3 and head[0] == 0x08 and head[1] < 0x20 and head[2] in _SECOND_TAGS


def load(path: Path, inputs: Shapes, values: Mapping[str, Array] | None = None) -> Program:
    """The program of the model at `path`; errors as `trimtab.importers.Importer` lists them.

    `values` are inputs that are known now, such as the shape a Reshape takes from outside: they
    become constants, and the program is without these inputs.
    """
    model = _read(path)
    opset = _opset(model, path)
    if model.functions:
        try:
            model = inliner.inline_local_functions(model)
        except Exception as error:
            raise ImportModelError(
                f"its functions cannot be expanded: {error}", where=str(path)
            ) from error
    graph = model.graph
    constants = {**_constants(graph, path), **(values or {})}
    infos = [info for info in graph.input if info.name not in constants]
    dtypes = {info.name: _input_dtype(info, path) for info in infos}
    work = GraphImport(path, opset, constants, graph)
    for name, shape in _input_shapes(infos, inputs, path).items():
        work.add_input(name, shape, dtypes[name])
    return work.finish()


def _read(path: Path) -> onnx.ModelProto:
    try:
        model = onnx.load_model(path)
    except DecodeError as error:
        raise ModelFileError(
            "is not an ONNX model, or is truncated",
            where=str(path),
            hint="export it or copy it again",
        ) from error
    except (OSError, ValueError, onnx.checker.ValidationError) as error:
        what = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise ModelFileError(
            f"cannot be read: {what}",
            where=str(path),
            hint="weights that lie outside the file must be beside it, under the names they had",
        ) from error
    if not (model.ir_version and model.opset_import and model.graph.output):
        raise ModelFileError(
            "is not an ONNX model, or is truncated: it has no graph",
            where=str(path),
            hint="export it or copy it again",
        )
    return model


def _opset(model: onnx.ModelProto, path: Path) -> int:
    """The version of the standard operators."""
    versions = {entry.domain: entry.version for entry in model.opset_import}
    newest = onnx.defs.onnx_opset_version()
    # A model that names other domains only has no standard operators: its nodes are refused.
    opset = versions.get("", versions.get("ai.onnx", newest))
    if not OLDEST_OPSET <= opset <= newest:
        raise ImportModelError(
            f"opset {opset} is not supported, {OLDEST_OPSET} to {newest} are",
            where=str(path),
            hint="convert it: onnx.version_converter.convert_version(model, 17)",
        )
    return int(opset)


def _constants(graph: onnx.GraphProto, path: Path) -> dict[str, Array]:
    if graph.sparse_initializer:
        raise ImportModelError(
            "it has sparse weights", where=str(path), hint="export it with dense weights"
        )
    constants = {}
    for tensor in graph.initializer:
        try:
            constants[tensor.name] = numpy_helper.to_array(tensor)
        except (ValueError, TypeError, KeyError) as error:
            raise ModelFileError(
                f"weights '{tensor.name}' are damaged: {error}",
                where=str(path),
                hint="export it or copy it again, with its external weights",
            ) from error
    return constants


def _input_dtype(info: onnx.ValueInfoProto, path: Path) -> str:
    name = dtype_name(info.type.tensor_type.elem_type)
    if name is None or not info.type.HasField("tensor_type"):
        raise ImportModelError(
            f"input '{info.name}' is not a tensor of {', '.join(DTYPE_NAMES.values())}",
            where=str(path),
        )
    return name


def _input_shapes(
    infos: Sequence[onnx.ValueInfoProto], given: Shapes, path: Path
) -> dict[str, tuple[int, ...]]:
    """The shape of every input; free dimensions come from `given`."""
    if unknown := sorted(set(given) - {info.name for info in infos}):
        raise ImportModelError(
            f"there is no input {', '.join(map(repr, unknown))}",
            where=str(path),
            hint=f"its inputs are: {', '.join(info.name for info in infos) or 'none'}",
        )
    return {info.name: _input_shape(info, given.get(info.name), path) for info in infos}


def _input_shape(
    info: onnx.ValueInfoProto, given: Sequence[int] | None, path: Path
) -> tuple[int, ...]:
    declared: list[int | str] | None = None
    if info.type.tensor_type.HasField("shape"):
        declared = [
            dim.dim_value
            if dim.HasField("dim_value") and dim.dim_value > 0
            else dim.dim_param or "?"
            for dim in info.type.tensor_type.shape.dim
        ]
    text = "[unknown]" if declared is None else f"[{', '.join(map(str, declared))}]"
    if given is None:
        if declared is None or not all(isinstance(dim, int) for dim in declared):
            example = ", ".join(
                str(d) if isinstance(d, int) else "1" for d in declared or ("1", "?")
            )
            raise DynamicShapeError(
                f"input '{info.name}' has free dimensions: {text}",
                where=str(path),
                hint=f"give its shape: inputs={{'{info.name}': ({example})}} in Python,"
                f" {info.name}={example.replace(' ', '')} on the command line",
            )
        return tuple(int(dim) for dim in declared)
    shape = tuple(int(dim) for dim in given)
    fits = declared is None or (
        len(shape) == len(declared)
        and all(not isinstance(d, int) or d == s for d, s in zip(declared, shape, strict=True))
    )
    if not fits or min(shape, default=1) < 1:
        raise ImportModelError(
            f"input '{info.name}' is {text}, the given shape {shape} does not fit",
            where=str(path),
            hint="give sizes for the free dimensions only, and repeat the fixed ones",
        )
    return shape
