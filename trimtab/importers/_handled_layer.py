"""What handlers of all formats do alike: refuse a layer, or add operators for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trimtab import schema
from trimtab.errors import ImportModelError
from trimtab.importers._layers import Array, LayerImport, UnsupportedFormError, Value


class HandledLayer:
    """A layer, node or operator of a file while it is imported; `where` is its place there."""

    def __init__(self, work: LayerImport, name: str, where: str) -> None:
        self._work = work
        self.name = name
        self.where = where

    def unsupported(self, reason: str) -> UnsupportedFormError:
        """The exception to raise when the engine cannot express this layer."""
        return UnsupportedFormError(reason)

    def invalid(self, reason: str) -> ImportModelError:
        """The exception to raise when the layer breaks a rule of its type."""
        return ImportModelError(reason, where=self.where, hint="check its parameters")

    def constant(self, value: Array | float, role: str) -> Value:
        """A new constant operand."""
        return self._work.add_constant(value, f"{self.name}.{role}")

    def add(self, op: str, *inputs: Value, **attributes: Any) -> Value:
        """Adds an operator with one output."""
        return self.add_many(op, *inputs, outputs=1, **attributes)[0]

    def add_many(
        self, op: str, *inputs: Value, outputs: int, **attributes: Any
    ) -> tuple[Value, ...]:
        """Adds an operator with several outputs."""
        allowed = schema.operator(op).dtypes
        if inputs and inputs[0].dtype not in allowed:
            raise self.unsupported(f"its operands are {inputs[0].dtype}, not {', '.join(allowed)}")
        return self._work.add_op(op, inputs, attributes, outputs, self.name)

    def reshape(self, x: Value, shape: Sequence[int]) -> Value:
        """`x` in another shape of as many elements."""
        return x if tuple(shape) == x.shape else self.add("reshape", x, shape=tuple(shape))

    def scaled(self, x: Value, factor: float) -> Value:
        """factor * x."""
        return x if factor == 1.0 else self.add("mul", x, self.constant(factor, "factor"))

    def shifted(self, x: Value, offset: float) -> Value:
        """x + offset."""
        return x if offset == 0.0 else self.add("add", x, self.constant(offset, "offset"))

    def scale_and_shift(self, x: Value, scale: float, shift: float) -> Value:
        """scale * x + shift."""
        return self.shifted(self.scaled(x, scale), shift)
