"""What a handler sees of a Paddle operator: attributes, operands by slot, how to add operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from trimtab.importers._layers import Array, LayerImport, Value
from trimtab.importers._nodes import Constants, GraphNode, Operand
from trimtab.importers.paddle_ops.framework import DTYPES, OpDesc, VarNames

# The main output, or several by slot.
Results = Operand | Mapping[str, Operand | Sequence[Operand]]
Handler = Callable[["Node"], Results]

HANDLERS: dict[str, Handler] = {}

TO_CHANNELS_FIRST, TO_CHANNELS_LAST = (0, 3, 1, 2), (0, 2, 3, 1)


def handles(*types: str) -> Callable[[Handler], Handler]:
    """Registers the decorated function as the handler of these operators."""

    def register(handler: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys(types, handler))
        return handler

    return register


class Node(GraphNode):
    """One operator while it is imported."""

    def __init__(
        self,
        work: LayerImport,
        constants: Constants,
        desc: OpDesc,
        values: Mapping[str, Operand | None],
        name: str,
        where: str,
    ) -> None:
        super().__init__(work, name, where)
        self._constants = constants
        self._desc = desc
        self._values = values
        self.type = desc.type

    # Attributes.

    def _get(self, name: str, default: Any) -> Any:
        value = self._desc.attributes.get(name)
        if isinstance(value, VarNames):
            return np.concatenate([self._known(n, name).reshape(-1) for n in value.names]).tolist()
        if value is None:
            value = default
        if value is None:
            raise self.invalid(f"it lacks the attribute '{name}'")
        return value

    def _one(self, name: str, default: Any) -> Any:
        value = self._get(name, default)
        if isinstance(value, list):
            if len(value) != 1:
                raise self.invalid(f"attribute '{name}' must be one value, it is {len(value)}")
            return value[0]
        return value

    def has_attribute(self, name: str) -> bool:
        """Whether the attribute is there."""
        return self._desc.attributes.get(name) is not None

    def integer(self, name: str, default: int | None = None) -> int:
        """An integer attribute."""
        return int(self._one(name, default))

    def real(self, name: str, default: float | None = None) -> float:
        """A real attribute."""
        return float(self._one(name, default))

    def boolean(self, name: str, default: bool) -> bool:
        """A flag."""
        return bool(self._one(name, default))

    def text(self, name: str, default: str) -> str:
        """A text attribute."""
        return str(self._one(name, default))

    def integers(self, name: str, default: Sequence[int] = ()) -> tuple[int, ...]:
        """A list of integers; a single number is a list of one."""
        value = self._get(name, default)
        return tuple(int(v) for v in (value if isinstance(value, (list, tuple)) else [value]))

    def reals(self, name: str, default: Sequence[float] = ()) -> tuple[float, ...]:
        """A list of real numbers; a single number is a list of one."""
        value = self._get(name, default)
        return tuple(float(v) for v in (value if isinstance(value, (list, tuple)) else [value]))

    def dtype(self, name: str, default: int) -> str:
        """numpy's name of the element type that an attribute holds; -1 and absent: `default`."""
        number = self.integer(name, default)
        number = default if number < 0 else number
        if number not in DTYPES:
            raise self.unsupported(f"its element type is number {number}")
        return DTYPES[number]

    # Operands.

    def names(self, slot: str) -> Sequence[str]:
        """Names of the variables in an input slot."""
        return [name for name in self._desc.inputs.get(slot, ()) if name != "@EMPTY@"]

    def output_count(self, slot: str) -> int:
        """Number of variables in an output slot."""
        return len(self._desc.outputs.get(slot, ()))

    def has(self, slot: str) -> bool:
        """Whether an input slot holds anything."""
        return bool(self.names(slot))

    def operand(self, slot: str = "X", i: int = 0) -> Operand:
        """Variable `i` of an input slot."""
        names = self.names(slot)
        if i >= len(names):
            raise self.invalid(f"its input {slot} has {len(names)} variables, {i + 1} are needed")
        operand = self._values[names[i]]
        if operand is None:
            raise self.unsupported(f"its input '{names[i]}' is not made")
        return operand

    def x(self, slot: str = "X", i: int = 0) -> Value:
        """Variable `i` of an input slot as an operand of the engine."""
        operand = self.operand(slot, i)
        return operand if isinstance(operand, Value) else self.constant_of(operand, slot, i)

    def constant_of(self, array: Array, slot: str, i: int = 0) -> Value:
        """The operand of an array that input slot `slot` holds."""
        return self._constants.operand(array, self.names(slot)[i])

    def image(self, slot: str = "X") -> Value:
        """An operand that must be [n, c, h, w] once it is seen so."""
        x = self.x(slot)
        if len(x.shape) != 4:
            raise self.unsupported(f"its input has {len(x.shape)} dimensions, not 4")
        return x

    def is_known(self, slot: str) -> bool:
        """Whether the value of an input slot is known now."""
        return isinstance(self.operand(slot), np.ndarray)

    def known(self, slot: str, i: int = 0) -> Array:
        """The value of an input, which must be known now."""
        self.operand(slot, i)
        return self._known(self.names(slot)[i], slot)

    def _known(self, name: str, role: str) -> Array:
        value = self._values.get(name)
        if not isinstance(value, np.ndarray):
            raise self.unsupported(f"its {role} must be constant")
        return value

    def weights(self, slot: str, shape: Sequence[int] | None = None) -> Array:
        """Constant float operands, of `shape` (-1: any size) up to dimensions of 1."""
        value = self.known(slot)
        if value.dtype.kind != "f":
            raise self.unsupported(f"its {slot} holds {value.dtype}, not floats: it is quantised")
        if shape is not None:
            fits = value.ndim == len(shape) and all(
                w in (-1, n) for n, w in zip(value.shape, shape, strict=True)
            )
            if not fits and -1 not in shape and value.size == np.prod(shape, dtype=object):
                return value.reshape(shape)
            if not fits:
                raise self.invalid(f"its {slot} is {list(value.shape)}, expected {list(shape)}")
        return value

    def numbers(self, slot: str, list_slot: str = "") -> tuple[float, ...] | None:
        """Numbers that inputs hold instead of an attribute: one tensor, or a list of scalars."""
        if list_slot and self.has(list_slot):
            count = len(self.names(list_slot))
            arrays = [self.known(list_slot, i).reshape(-1) for i in range(count)]
            return tuple(np.concatenate(arrays).tolist())
        return tuple(self.known(slot).reshape(-1).tolist()) if slot and self.has(slot) else None

    def int_list(self, name: str, slot: str = "", list_slot: str = "") -> tuple[int, ...]:
        """An attribute that inputs may hold instead."""
        given = self.numbers(slot, list_slot)
        return self.integers(name) if given is None else tuple(int(v) for v in given)
