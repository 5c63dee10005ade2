"""What importers of operator graphs share: a node whose operands are known now, or computed later.

Shapes, and whatever is made of constants only, are known while a graph is imported: as arrays. They
become operands of the program where an operator of the engine reads them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from trimtab.importers._handled_layer import HandledLayer
from trimtab.importers._layers import Array, LayerImport, Value
from trimtab.program import MAX_ELEMENTS

Operand = Value | Array


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


class GraphNode(HandledLayer):
    """One node while it is imported."""

    def axis(self, axis: int, rank: int) -> int:
        """`axis` counted from the front."""
        if not -rank <= axis < rank:
            raise self.invalid(f"axis {axis} is outside {rank} dimensions")
        return axis % rank

    def transpose(self, x: Value, permutation: Sequence[int]) -> Value:
        """y.shape[i] = x.shape[permutation[i]]."""
        if tuple(permutation) == tuple(range(len(x.shape))):
            return x
        return self.add("transpose", x, permutation=tuple(permutation))

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
        if min(shape, default=1) < 0 or math.prod(shape) > MAX_ELEMENTS:
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
