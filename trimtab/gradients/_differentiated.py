"""The operator that a rule differentiates."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.errors import ProgramError
from trimtab.gradients._builder import OpBuilder
from trimtab.program import Block, Op


class DifferentiatedOp(OpBuilder):
    """An operator, its operands and results, and the gradients of its results ("": none)."""

    def __init__(self, block: Block, op: Op, gradients: tuple[str, ...] = ()) -> None:
        super().__init__(block, f"{op.name}.gradient" if gradients else op.name)
        self.schema, self.where = op.schema, f"operator {op.name}"
        self.inputs, self.outputs = op.inputs, op.outputs
        self.attributes: dict[str, Any] = op.attributes
        self._gradients = gradients

    def x(self, index: int = 0) -> str:
        """An operand."""
        return self.inputs[index]

    @property
    def y(self) -> str:
        """The first result."""
        return self.outputs[0]

    @property
    def dy(self) -> str:
        """The gradient of the first result."""
        return self.gradient_of(0)

    def gradient_of(self, index: int) -> str:
        """The gradient of a result; zeros if the loss does not depend on it."""
        return self._gradients[index] or self.zeros(self.shape(self.outputs[index]))

    def has(self, index: int) -> bool:
        """Whether the optional operand `index` is present."""
        return index < len(self.inputs) and bool(self.inputs[index])

    def value(self, index: int) -> NDArray[Any]:
        """The elements of a constant operand; ProgramError if it is computed."""
        data = self.block.vars[self.x(index)].data
        if data is None:
            port = self.schema.inputs[index].name
            raise self.refused(f"its operand {port!r} is computed, not a constant")
        return np.asarray(data)

    def attribute(self, name: str, *supported: object) -> Any:
        """The value of an attribute; ProgramError if it is not one of `supported`."""
        value = self.attributes[name]
        if value not in supported:
            raise self.refused(f"{name} = {value} has none")
        return value

    def refused(self, reason: str) -> ProgramError:
        """The error to raise if the rule does not serve this form of the operator."""
        return ProgramError(
            f"operator {self.schema.name} has no gradient in this form: {reason}",
            where=self.where,
            hint="freeze the layers before it: name only parameters behind it in `trainable`",
        )
