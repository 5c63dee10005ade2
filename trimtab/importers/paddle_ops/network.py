"""The operators of a Paddle program in their order, one after the other into a program of ours."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trimtab.errors import ImportModelError
from trimtab.importers._handled_layer import HandledLayer
from trimtab.importers._inputs import Declared, declared_inputs
from trimtab.importers._layers import LayerImport, Operand, Value
from trimtab.importers.paddle_ops import framework, weights
from trimtab.importers.paddle_ops.framework import ProgramDesc, VarDesc
from trimtab.importers.paddle_ops.node import HANDLERS, Node
from trimtab.program import Program

if TYPE_CHECKING:
    from trimtab.importers import Shapes

# What the engine takes as an input of a program.
_INPUT_DTYPES = {"<f4": "f32", "<f8": "f32", "<i4": "i32", "<i8": "i64", "u1": "u8", "?": "bool"}


def load(path: Path, model: Path, inputs: Shapes) -> Program:
    """The program in the file `model`, which `path` led to."""
    desc = framework.read(model)
    work = DescImport(model, desc)
    work.values |= weights.parameters(path, model, desc)
    for name, (shape, dtype) in _inputs(model, desc, inputs).items():
        work.values[name] = work.add_input(name, shape, dtype)
    for index, op in enumerate(desc.ops):
        if op.type not in ("feed", "fetch"):
            work.add(Node(work, op, index))
    return work.finish({name: name for name in _borders(desc, "fetch")})


def _borders(desc: ProgramDesc, type: str) -> list[str]:
    """Variables that feed operators make, or fetch operators read, in their order."""
    found = []
    for index, op in enumerate(desc.ops):
        if op.type == type:
            slots = op.outputs if type == "feed" else op.inputs
            names = slots.get("Out" if type == "feed" else "X", ())
            column = op.attributes.get("col")
            found.append((column if isinstance(column, int) else index, index, names))
    return [name for _, _, names in sorted(found) for name in names]


def _inputs(path: Path, desc: ProgramDesc, given: Shapes) -> dict[str, tuple[tuple[int, ...], str]]:
    """Shape and element type of every input."""
    declared = {}
    dtypes = {}
    for name in _borders(desc, "feed"):
        var = desc.vars.get(name)
        if var is None:
            raise ImportModelError(f"input '{name}' is not declared", where=str(path))
        dtype = _INPUT_DTYPES.get(framework.DTYPES.get(var.dtype, ""))
        if dtype is None:
            raise ImportModelError(
                f"input '{name}' has element type number {var.dtype}",
                where=str(path),
                hint=f"it must be one of {', '.join(sorted(set(_INPUT_DTYPES.values())))}",
            )
        declared[name], dtypes[name] = _declared(var, given.get(name)), dtype
    shapes = declared_inputs(declared, given, str(path), fixed=True)
    return {name: (shape, dtypes[name]) for name, shape in shapes.items()}


def _declared(var: VarDesc, given: Sequence[int] | None) -> Declared | None:
    dims = [size if size > 0 else None for size in var.dims]
    if given is None and dims and dims[0] is None and None not in dims[1:]:
        dims[0] = 1
    return dims or None


class DescImport(LayerImport):
    """Variables are known by name, and may be written again."""

    def __init__(self, path: Path, desc: ProgramDesc) -> None:
        super().__init__(path, HANDLERS, len(desc.ops))
        if not path.suffix:
            self.program.name = path.parent.name
        self._used = {n for op in desc.ops for names in op.inputs.values() for n in names}

    def is_used(self, key: object) -> bool:
        """Whether an operator reads the variable."""
        return key in self._used

    def bound(self, layer: HandledLayer, results: Any) -> Mapping[Hashable, Any]:
        """Results by variable: the main output, or several by slot."""
        assert isinstance(layer, Node)
        if not isinstance(results, Mapping):
            results = {layer.main_output: results}
        made: dict[Hashable, Operand] = {}
        for slot, result in results.items():
            operands = [result] if isinstance(result, (Value, np.ndarray)) else result
            made |= zip(layer.output_slots.get(slot, ()), operands, strict=False)
        return made
