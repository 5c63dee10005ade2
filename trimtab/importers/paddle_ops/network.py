"""Imports a Paddle program operator by operator."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trimtab.errors import ImportModelError
from trimtab.importers._graph import Operand, Value
from trimtab.importers._inputs import Declared, Shapes, declared_inputs
from trimtab.importers._layer import ImportedLayer
from trimtab.importers._walk import NetworkImport
from trimtab.importers.paddle_ops import framework, weights
from trimtab.importers.paddle_ops.framework import ProgramDesc, VarDesc
from trimtab.importers.paddle_ops.node import HANDLERS, PaddleNode
from trimtab.program import Program

# Element types of inputs: numpy's name and the engine's.
_INPUT_DTYPES = {"<f4": "f32", "<f8": "f32", "<i4": "i32", "<i8": "i64", "u1": "u8", "?": "bool"}


def load(path: Path, model: Path, inputs: Shapes) -> Program:
    """The program of the file `model`, for which the user gave `path`."""
    desc = framework.read(model)
    walk = PaddleImport(model, desc)
    walk.values |= weights.parameters(path, model, desc)
    walk.budget.add_stored(sum(value.nbytes for value in walk.values.values()))
    for name, (shape, dtype) in _inputs(model, desc, inputs).items():
        walk.values[name] = walk.add_input(name, shape, dtype)
    for index, op in enumerate(desc.ops):
        if op.type not in ("feed", "fetch"):
            walk.add(PaddleNode(walk, op, index))
    return walk.finish({name: name for name in _inputs_or_outputs(desc, "fetch")})


def _inputs_or_outputs(desc: ProgramDesc, type: str) -> list[str]:
    """The inputs (type `feed`) or outputs (type `fetch`) of a program, in order."""
    columns = []
    for index, op in enumerate(desc.ops):
        if op.type == type:
            slots = op.outputs if type == "feed" else op.inputs
            names = slots.get("Out" if type == "feed" else "X", ())
            column = op.attributes.get("col")
            columns.append((column if isinstance(column, int) else index, index, names))
    return [name for _, _, names in sorted(columns) for name in names]


def _inputs(
    path: Path, desc: ProgramDesc, shapes: Shapes
) -> dict[str, tuple[tuple[int, ...], str]]:
    """Shape and element type of every input."""
    declared = {}
    dtypes = {}
    for name in _inputs_or_outputs(desc, "feed"):
        var = desc.vars.get(name)
        if var is None:
            raise ImportModelError(
                f"input '{name}' is not declared",
                where=str(path),
                hint="check that the file is complete; save the program again",
            )
        dtype = _INPUT_DTYPES.get(framework.DTYPES.get(var.dtype, ""))
        if dtype is None:
            raise ImportModelError(
                f"input '{name}' has element type {framework.type_name(var.dtype)}",
                where=str(path),
                hint=f"it must be one of {', '.join(sorted(set(_INPUT_DTYPES.values())))}",
            )
        declared[name], dtypes[name] = _declared(var, shapes.get(name)), dtype
    complete = declared_inputs(declared, shapes, str(path), fixed=True)
    return {name: (shape, dtypes[name]) for name, shape in complete.items()}


def _declared(var: VarDesc, shape: Sequence[int] | None) -> Declared | None:
    dims = [size if size > 0 else None for size in var.dims]
    if shape is None and dims and dims[0] is None and None not in dims[1:]:
        dims[0] = 1
    return dims or None


class PaddleImport(NetworkImport):
    """Values are variables by name; an operator may redefine a variable."""

    def __init__(self, path: Path, desc: ProgramDesc) -> None:
        super().__init__(path, HANDLERS, len(desc.ops))
        if not path.suffix:
            self.program.name = path.parent.name
        self._used = {n for op in desc.ops for names in op.inputs.values() for n in names}

    def is_used(self, key: object) -> bool:
        """Whether an operator reads the variable."""
        return key in self._used

    def bound(self, layer: ImportedLayer, results: Any) -> Mapping[Hashable, Any]:
        """Results by variable, from the main output or from several outputs by slot."""
        assert isinstance(layer, PaddleNode)
        if not isinstance(results, Mapping):
            results = {layer.main_output: results}
        values: dict[Hashable, Operand] = {}
        for slot, result in results.items():
            operands = [result] if isinstance(result, (Value, np.ndarray)) else result
            values |= zip(layer.output_slots.get(slot, ()), operands, strict=False)
        return values
