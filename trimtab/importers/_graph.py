"""The program under construction: its inputs, constants and operators."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab import schema
from trimtab.errors import ImportModelError, ProgramError
from trimtab.importers._budget import ImportBudget
from trimtab.program import Program, Quantization, Var

Array = NDArray[Any]
Value = Var
Operand = Value | Array
"""A tensor that the program computes, or an array that is constant at import time."""


class UnsupportedFormError(Exception):
    """The engine cannot express this layer, or this form of it; `NetworkImport` collects them."""


class ImportGraph:
    """The program under construction.

    `values` maps each value of the file, by the file's own key, to a tensor of the program or to a
    constant array. `budget` is what the import may spend.
    """

    exact_types = False
    """Whether constants keep their floating-point type; otherwise they become float32."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.program = Program(path.stem)
        self.values: dict[Any, Any] = {}
        self.budget = ImportBudget()
        # Constants of the program by the identity of the array, which the entry keeps alive.
        self._constants: dict[int, tuple[Array, Value]] = {}

    def add_input(self, name: str, shape: Sequence[int], dtype: str = "f32") -> Value:
        """Declares an input of the program."""
        try:
            return self.program.vars[self.program.add_input(name, shape, dtype)]
        except ProgramError as error:
            raise ImportModelError(
                error.what, where=f"{self.path}: input '{name}'", hint="give positive sizes"
            ) from error

    def add_constant(
        self,
        value: Array | float,
        name: str,
        *,
        exact: bool = False,
        quantization: Quantization | None = None,
    ) -> Value:
        """Adds a constant; floating-point values become float32 unless `exact`."""
        array = np.asarray(value)
        if array.dtype.kind == "f" and not exact:
            array = array.astype(np.float32, copy=False)
        try:
            constant = self.program.block.add_constant(array, name, quantization)
            return self.program.vars[constant]
        except ProgramError as error:
            raise UnsupportedFormError(f"operand '{name}': {error.what}") from error

    def operand(self, value: Operand, name: str) -> Value:
        """A value as a tensor of the program; an array becomes one constant, called `name`."""
        if isinstance(value, Var):
            return value
        if id(value) not in self._constants:
            constant = self.add_constant(value, name, exact=self.exact_types)
            self._constants[id(value)] = value, constant
        return self._constants[id(value)][1]

    def is_constant(self, value: Array) -> bool:
        """Whether an array already is a constant of the program."""
        return id(value) in self._constants

    def add_op(
        self, op: str, inputs: Sequence[Value], attributes: dict[str, Any], outputs: int, name: str
    ) -> tuple[Value, ...]:
        """Appends an operator of the engine and returns its outputs."""
        exact = {a.name for a in schema.operator(op).attributes if a.type == "double"}
        rounded = {k: v if k in exact else _decimal(v) for k, v in attributes.items()}
        names = self.program.block.add_op(op, [v.name for v in inputs], rounded, outputs, name)
        return tuple(self.program.vars[n] for n in names)

    def rename(self, value: Value, name: str, first_op: int = 0) -> None:
        """Renames a tensor that only operators from `first_op` on use. A tensor that already has
        the name gets another one, except inputs, which keep theirs.
        """
        old = value.name
        if name == old or name in self.program.inputs:
            return
        if other := self.program.vars.get(name):
            self.rename(other, self.program.block.new_name(f"{name}.inner"), first_op)
        for op in self.program.ops[first_op:]:
            op.inputs = [name if i == old else i for i in op.inputs]
            op.outputs = [name if o == old else o for o in op.outputs]
        self.program.vars[name] = self.program.vars.pop(old)
        value.name = name


def _decimal(value: Any) -> Any:
    """The shortest decimal of a float32: some formats store 1e-05 as its nearest float32."""
    if not isinstance(value, float) or abs(value) > np.finfo(np.float32).max:
        return value
    return float(str(np.float32(value)))
