"""What a handler sees of a Paddle operator: attributes, operands by slot, how to add operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from trimtab.importers._attributes import AttributedLayer
from trimtab.importers._handled_layer import Place
from trimtab.importers._handlers import Handlers
from trimtab.importers._layers import Array, Operand, Value
from trimtab.importers.paddle_ops.framework import DTYPES, OpDesc, VarNames

if TYPE_CHECKING:
    from trimtab.importers.paddle_ops.network import DescImport

# The main output, or several by slot.
Results = Operand | Mapping[str, Operand | Sequence[Operand]]

# Output slots of which an operator has one that matters.
_MAIN_OUTPUTS = ("Out", "Output", "Y", "OutputBox")

# Attributes that Paddle gives to every operator, for its own book-keeping.
_GENERAL = frozenset(
    ("op_role", "op_role_var", "op_namescope", "op_callstack", "op_device", "with_quant_attr")
)

_EMPTY = "@EMPTY@"  # the name of no variable at all


class Node(AttributedLayer):
    """One operator while it is imported; its operands are in slots."""

    def __init__(self, work: DescImport, desc: OpDesc, index: int) -> None:
        slots = (*_MAIN_OUTPUTS, *desc.outputs)
        self.main_output = next((slot for slot in slots if desc.outputs.get(slot)), "")
        name = next(iter(desc.outputs.get(self.main_output, ())), f"{desc.type}_{index}")
        title = f"operator {index} '{name}' ({desc.type})"
        self.output_slots, self._slots = desc.outputs, desc.inputs
        self._attributes = desc.attributes
        super().__init__(
            work,
            desc.type,
            name,
            [n for names in desc.inputs.values() for n in names if n != _EMPTY],
            [n for names in desc.outputs.values() for n in names if n != _EMPTY],
            where=f"{work.path}: {title}",
            title=title,
        )

    def attribute(self, name: str) -> Any:
        """An attribute, which variables may hold."""
        value = self._attributes.get(name)
        if not isinstance(value, VarNames):
            return value
        return np.concatenate([self._known(n, name).reshape(-1) for n in value.names]).tolist()

    def parameters(self) -> Mapping[str, Any]:
        """Its attributes; lists as lists."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in ((name, self.attribute(name)) for name in self._attributes)
        }

    def is_harmless(self, name: str) -> bool:
        """Whether every operator may have the attribute."""
        return name in _GENERAL

    def dtype(self, name: str, default: int) -> str:
        """numpy's name of the element type that an attribute holds; -1 and absent: `default`."""
        number = self.integer(name, default)
        number = default if number < 0 else number
        if number not in DTYPES:
            raise self.unsupported(f"its element type is number {number}")
        return DTYPES[number]

    # Operands. A slot stands for its first variable, a number for one of slot X.

    def names(self, slot: str) -> list[str]:
        """Names of the variables in an input slot."""
        return [name for name in self._slots.get(slot, ()) if name != _EMPTY]

    def output_count(self, slot: str) -> int:
        """Number of variables in an output slot."""
        return len(self.output_slots.get(slot, ()))

    def has(self, place: Place) -> bool:
        """Whether an input slot holds anything, or slot X so many variables."""
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
        """The value of an input, which must be known now."""
        return super().known(place, what or str(place))

    def _known(self, name: str, role: str) -> Array:
        value = self._work.values.get(name)
        if not isinstance(value, np.ndarray):
            raise self.unsupported(f"its {role} must be constant")
        return value

    def weights(self, slot: str, shape: Sequence[int] | None = None) -> Array:
        """Constant float operands, of `shape` (-1: any size) up to dimensions of 1."""
        return self.parameter(slot, slot, shape)

    def constant_of(self, array: Array, slot: str) -> Value:
        """The operand of the known value of an input slot, under the variable's name."""
        return self._work.operand(array, self.key(slot))

    def numbers(self, slot: str, list_slot: str = "") -> tuple[float, ...] | None:
        """Numbers that inputs hold instead of an attribute: one tensor, or a list of scalars."""
        if list_slot and self.has(list_slot):
            arrays = [self._known(n, list_slot).reshape(-1) for n in self.names(list_slot)]
            return tuple(np.concatenate(arrays).tolist())
        return tuple(self.known(slot).reshape(-1).tolist()) if slot and self.has(slot) else None

    def int_list(self, name: str, slot: str = "", list_slot: str = "") -> tuple[int, ...]:
        """An attribute that inputs may hold instead."""
        given = self.numbers(slot, list_slot)
        return self.integers(name) if given is None else tuple(int(v) for v in given)


HANDLERS = Handlers[Node](__name__)
handles = HANDLERS.handles
