"""Values of inputs that the user gives when the network is loaded, such as a sampling rate.

An input without dimensions has no sizes to give: a number for it is its value, which becomes a
constant. Whatever depends on it alone is computed during the import, and an `If` that it decides
becomes one of its branches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

from trimtab.errors import ImportModelError
from trimtab.importers._graph import Array
from trimtab.importers._inputs import Shapes
from trimtab.importers.onnx_ops.model import declared_shape


def values(inputs: Iterable[onnx.ValueInfoProto], shapes: Shapes, path: Path) -> dict[str, Array]:
    """The values of scalar inputs for which `shapes` has one number; ImportModelError if the
    input's type cannot hold it.
    """
    constants = {}
    for info in inputs:
        numbers = tuple(shapes.get(info.name, ()))
        if len(numbers) != 1 or not _is_scalar(info):
            continue
        dtype = helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type)
        try:
            constants[info.name] = np.array(numbers[0], dtype)
        except (OverflowError, ValueError) as error:
            raise ImportModelError(
                f"input '{info.name}' is a {dtype.name}, which cannot be {numbers[0]}",
                where=str(path),
                hint="an input without dimensions takes one number, its value",
            ) from error
    return constants


def remark(graph: onnx.GraphProto, name: str) -> str:
    """Advice if the value `name` decides too late which branch runs: to give the scalar inputs that
    it follows from, "" if it follows from others.
    """
    producers = {output: node for node in graph.node for output in node.output}
    scalars = {info.name for info in graph.input if _is_scalar(info)}
    constants = {tensor.name for tensor in graph.initializer}
    deciding: dict[str, None] = {}
    visited, open_ = set(), [name]
    while open_:
        value = open_.pop()
        if value in visited or not value or value in constants:
            continue
        visited.add(value)
        if value in producers:
            open_ += producers[value].input
        elif value in scalars:
            deciding[value] = None
        else:
            return ""
    if not deciding:
        return ""
    listed = ", ".join(f"'{scalar}'" for scalar in deciding)
    example = f"--input {next(iter(deciding))}=NUMBER"
    return f"; it follows from the input {listed} alone: give the value ({example})"


def _is_scalar(info: onnx.ValueInfoProto) -> bool:
    return info.type.HasField("tensor_type") and declared_shape(info) == []


def without(shapes: Shapes, names: Iterable[str]) -> Shapes:
    """The shapes of other inputs than `names`."""
    left: Mapping[str, object] = dict.fromkeys(names)
    return {name: shape for name, shape in shapes.items() if name not in left}
