"""A Paddle operator during its import: attributes, and operands by slot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from trimtab.importers._attributes import AttributedLayer
from trimtab.importers._graph import Array, ImportGraph, Operand, Value
from trimtab.importers._handlers import Handlers
from trimtab.importers._layer import Place
from trimtab.importers.paddle_ops.framework import DTYPES, OpDesc, VarNames, type_name

Results = Operand | Mapping[str, Operand | Sequence[Operand]]
"""The result of a handler: the main output, or several outputs by slot."""

# Names of the main output slot.
_MAIN_OUTPUTS = ("Out", "Output", "Y", "OutputBox")

# Attributes that Paddle gives to every operator, for its own bookkeeping.
_GENERAL = frozenset(
    ("op_role", "op_role_var", "op_namescope", "op_callstack", "op_device", "with_quant_attr")
)

_EMPTY = "@EMPTY@"  # stands for an absent variable


class PaddleNode(AttributedLayer):
    """One operator of a program. A slot names its first variable, a number one of slot X."""

    def __init__(self, graph: ImportGraph, desc: OpDesc, index: int) -> None:
        slots = (*_MAIN_OUTPUTS, *desc.outputs)
        self.main_output = next((slot for slot in slots if desc.outputs.get(slot)), "")
        name = next(iter(desc.outputs.get(self.main_output, ())), f"{desc.type}_{index}")
        title = f"operator {index} '{name}' ({desc.type})"
        self.output_slots, self._slots = desc.outputs, desc.inputs
        self._attributes = desc.attributes
        super().__init__(
            graph,
            desc.type,
            name,
            [n for names in desc.inputs.values() for n in names if n != _EMPTY],
            [n for names in desc.outputs.values() for n in names if n != _EMPTY],
            where=f"{graph.path}: {title}",
            title=title,
        )

    def attribute(self, name: str) -> Any:
        """An attribute; variables may hold its value."""
        value = self._attributes.get(name)
        if not isinstance(value, VarNames):
            return value
        return np.concatenate([self._constant(n, name).reshape(-1) for n in value.names]).tolist()

    def parameters(self) -> Mapping[str, Any]:
        """All attributes; tuples become lists."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in ((name, self.attribute(name)) for name in self._attributes)
        }

    def is_harmless(self, name: str) -> bool:
        """Whether Paddle gives the attribute to every operator."""
        return name in _GENERAL

    def dtype(self, name: str, default: int) -> str:
        """numpy's name of the element type in an attribute; -1 stands for `default`."""
        number = self.integer(name, default)
        number = default if number < 0 else number
        if number not in DTYPES:
            raise self.unsupported(f"its element type is {type_name(number)}")
        return DTYPES[number]

    # Operands.

    def names(self, slot: str) -> list[str]:
        """Names of the variables in an input slot."""
        return [name for name in self._slots.get(slot, ()) if name != _EMPTY]

    def output_count(self, slot: str) -> int:
        """Number of variables in an output slot."""
        return len(self.output_slots.get(slot, ()))

    def has(self, place: Place) -> bool:
        """Whether an input slot has a variable, or slot X one with that index."""
        slot, i = (place, 0) if isinstance(place, str) else ("X", place)
        return i < len(self.names(slot))

    def key(self, place: Place) -> str:
        """The name of a variable."""
        slot, i = (place, 0) if isinstance(place, str) else ("X", place)
        names = self.names(slot)
        if i >= len(names):
            raise self.invalid(f"its input {slot} has {len(names)} variables, {i + 1} are needed")
        return names[i]

    def count(self) -> int:
        """Number of variables in slot X."""
        return len(self.names("X"))

    def known(self, place: Place, what: str = "") -> Array:
        """The value of a constant input."""
        return super().known(place, what or str(place))

    def _constant(self, name: str, role: str) -> Array:
        value = self._graph.values.get(name)
        if not isinstance(value, np.ndarray):
            raise self.unsupported(f"its {role} must be constant")
        return value

    def weights(self, slot: str, shape: Sequence[int] | None = None) -> Array:
        """Constant float values; `shape` (-1: any size) may differ in dimensions of 1."""
        return self.parameter(slot, slot, shape)

    def constant_of(self, array: Array, slot: str) -> Value:
        """The constant `array` as a tensor with the name of the variable in `slot`."""
        return self._graph.operand(array, self.key(slot))

    def numbers(self, slot: str, list_slot: str = "") -> tuple[float, ...] | None:
        """Numbers in the tensor of `slot`, or in the scalars of `list_slot`; None without both."""
        if list_slot and self.has(list_slot):
            arrays = [self._constant(n, list_slot).reshape(-1) for n in self.names(list_slot)]
            return tuple(np.concatenate(arrays).tolist())
        return tuple(self.known(slot).reshape(-1).tolist()) if slot and self.has(slot) else None

    def int_list(self, name: str, slot: str = "", list_slot: str = "") -> tuple[int, ...]:
        """Integers from the input slots if they are present, otherwise from an attribute."""
        numbers = self.numbers(slot, list_slot)
        return self.integers(name) if numbers is None else tuple(int(v) for v in numbers)


HANDLERS = Handlers[PaddleNode](__name__)
handles = HANDLERS.handles
