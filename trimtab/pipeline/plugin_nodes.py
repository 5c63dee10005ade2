"""ONNX nodes of plug-ins in the expected output: the plug-in's own reference computes them.

A plug-in's parser translates the node into operators. An operator's reference is the function
`expected` of a case in the plug-in's `tests/cases/`.
"""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from trimtab import importers
from trimtab.bench.onnx_segments import Array, CustomNodes
from trimtab.errors import PluginError
from trimtab.importers._parsers import parsers
from trimtab.operator_cases import reference_of
from trimtab.program import Op, Program
from trimtab.program.block import NUMPY_DTYPES
from trimtab.session import Session

_OF_ONNXRUNTIME = "com.microsoft"  # the domain of the operators that it adds to the standard


def plugin_nodes() -> CustomNodes:
    """The nodes that parsers of plug-ins translate and onnxruntime does not know."""
    own = {parser.origin: parser for parser in parsers("onnx")}

    def contains(node: onnx.NodeProto) -> bool:
        domain = "" if node.domain in ("", "ai.onnx") else f"{node.domain}."
        is_known = onnx.defs.has(node.op_type, node.domain)
        known_domain = node.domain.startswith(_OF_ONNXRUNTIME)
        return f"{domain}{node.op_type}" in own and not is_known and not known_domain

    ops = {op for parser in own.values() for op in parser.ops}
    alone = sorted(op for op in ops if reference_of(op) is None)
    by_engine = f"; {', '.join(alone)} on the host (not independent)" if alone else ""
    return CustomNodes(contains, _compute, f"the references of plug-ins{by_engine}")


def _compute(part: onnx.ModelProto, inputs: Mapping[str, Array]) -> list[Array]:
    """The outputs of a model of such nodes: reference functions where there are any, else the
    engine on this machine, computes each operator.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "nodes.onnx"
        onnx.save(part, path)
        program = importers.load(path, cache=False)
    values = {var.name: var.data for var in program.constants()}
    values.update(inputs)
    for op in program.ops:
        operands = [values[name] if name else None for name in op.inputs]
        reference = reference_of(op.type)
        if reference is None:
            results = _by_engine(program, op, operands)
        else:
            results = _by_reference(reference, program, op, operands)
        values.update(zip(op.outputs, results, strict=True))
    return [np.asarray(values[name]) for name in program.outputs]


def _by_reference(
    reference: Callable[..., Any], program: Program, op: Op, operands: Sequence[Array | None]
) -> list[Array]:
    """The results of a reference function; PluginError if it lacks an attribute that is not the
    default, or computes another shape than the operator.
    """
    parameters = inspect.signature(reference).parameters
    takes_all = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    planned = {one.name for one in op.schema.attributes if one.plan}
    attributes = {
        name: value
        for name, value in op.attributes.items()
        if name not in planned and (takes_all or name in parameters)
    }
    where = f"operator {op.type}"
    for one in op.schema.attributes:
        default = tuple(one.default) if isinstance(one.default, list) else one.default
        if op.attributes[one.name] != default and one.name not in {*attributes, *planned}:
            raise PluginError(
                f"its reference function has no parameter {one.name}",
                where=where,
                hint="add it to the function `expected` of its cases in tests/cases/",
            )
    result = reference(*operands, **attributes)
    arrays = [np.asarray(a) for a in (result if isinstance(result, list | tuple) else [result])]
    shapes = [program.vars[name].shape for name in op.outputs]
    if [array.shape for array in arrays] != shapes:
        raise PluginError(
            f"its reference function computes {[list(array.shape) for array in arrays]}, "
            f"the operator {[list(shape) for shape in shapes]}",
            where=where,
            hint="correct `expected` in tests/cases/, or InferShape",
        )
    types = [NUMPY_DTYPES[program.vars[name].dtype] for name in op.outputs]
    return [array.astype(dtype) for array, dtype in zip(arrays, types, strict=True)]


def _by_engine(program: Program, op: Op, operands: Sequence[Array | None]) -> list[Array]:
    """The results of one operator on this machine."""
    alone = Program(op.type)
    feed: dict[str, Array] = {}
    names: list[str] = []
    for i, (name, array) in enumerate(zip(op.inputs, operands, strict=True)):
        if array is None:
            names.append("")
        elif program.vars[name].data is not None:
            names.append(alone.block.add_constant(array))
        else:
            names.append(alone.add_input(f"x{i}", array.shape, program.vars[name].dtype))
            feed[names[-1]] = array
    alone.outputs = alone.block.add_op(op.type, names, op.attributes, len(op.outputs))
    results = Session(alone).run(feed)
    return [results[name] for name in alone.outputs]
