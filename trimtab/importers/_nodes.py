"""What importers of operator graphs share: a node whose operands are known now, or computed later.

Shapes, and whatever is made of constants only, are known while a graph is imported: as arrays. They
become operands of the program where an operator of the engine reads them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from trimtab import schema
from trimtab.errors import ImportModelError
from trimtab.importers._layers import Array, LayerImport, UnsupportedFormError, Value

Operand = Value | Array

# Elements that a constant computed while importing may have; a damaged file asks for any number.
MOST_ELEMENTS = 2**26


class Constants:
    """Operands that stand for arrays; the same array becomes the same operand."""

    def __init__(self, work: LayerImport) -> None:
        self._work = work
        # By the array's identity, with the array, which keeps the identity its own.
        self._made: dict[int, tuple[Array, Value]] = {}

    def operand(self, array: Array, name: str) -> Value:
        """The operand of `array`, called `name` if it is new."""
        if id(array) not in self._made:
            self._made[id(array)] = array, self._work.add_constant(array, name)
        return self._made[id(array)][1]


class GraphNode:
    """One node while it is imported: how to add operators, and how to refuse."""

    def __init__(self, work: LayerImport, name: str, where: str) -> None:
        self._work = work
        self.name = name
        self.where = where

    def unsupported(self, reason: str) -> UnsupportedFormError:
        """The exception to raise when the engine cannot express this node."""
        return UnsupportedFormError(reason)

    def invalid(self, reason: str) -> ImportModelError:
        """The exception to raise when the node breaks a rule of its type."""
        return ImportModelError(reason, where=self.where)

    def axis(self, axis: int, rank: int) -> int:
        """`axis` counted from the front."""
        if not -rank <= axis < rank:
            raise self.invalid(f"axis {axis} is outside {rank} dimensions")
        return axis % rank

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

    def transpose(self, x: Value, permutation: Sequence[int]) -> Value:
        """y.shape[i] = x.shape[permutation[i]]."""
        if tuple(permutation) == tuple(range(len(x.shape))):
            return x
        return self.add("transpose", x, permutation=tuple(permutation))

    def scale_and_shift(self, x: Value, scale: float, shift: float) -> Value:
        """scale * x + shift."""
        if scale != 1.0:
            x = self.add("mul", x, self.constant(scale, "scale"))
        return x if shift == 0.0 else self.add("add", x, self.constant(shift, "shift"))

    def fitted_shape(self, shape: Sequence[int], wanted: Sequence[int]) -> tuple[int, ...]:
        """`wanted` with its -1 resolved, so that it has as many elements as `shape`."""
        result = list(wanted)
        if result.count(-1) == 1:
            known = math.prod(n for n in result if n != -1)
            result[result.index(-1)] = math.prod(shape) // known if known > 0 else 0
        if min(result, default=1) < 0 or math.prod(result) != math.prod(shape):
            raise self.invalid(f"{list(shape)} cannot be reshaped to {list(wanted)}")
        return tuple(result)

    def check_elements(self, shape: Sequence[int]) -> None:
        """Refuses a constant that would be too large."""
        if min(shape, default=1) < 0 or math.prod(shape) > MOST_ELEMENTS:
            raise self.invalid(f"a constant of shape {list(shape)} is too large")


def is_known(operand: Operand | None) -> bool:
    """Whether the value is known while importing."""
    return isinstance(operand, np.ndarray)


def regular_windows(size: int, count: int) -> tuple[int, int] | None:
    """Window and stride of an adaptive pool that makes `count` values of `size`; None: its windows
    differ.
    """
    bounds = adaptive_windows(size, count)
    lengths = {end - begin for begin, end in bounds}
    steps = {b[0] - a[0] for a, b in pairwise(bounds)}
    if len(lengths) > 1 or len(steps) > 1:
        return None
    return lengths.pop(), steps.pop() if steps else size


def adaptive_windows(size: int, count: int) -> list[tuple[int, int]]:
    """Begin and end of the windows of an adaptive pool: they cover everything, and may overlap."""
    return [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]
