"""Appends operators to a block, for rules, losses and optimizers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from trimtab.program import Block, Op


class OpBuilder:
    """Appends operators to `block` and names their results after `name`."""

    def __init__(self, block: Block, name: str) -> None:
        self.block = block
        self.name = name

    def add(self, type: str, *inputs: str, **attributes: Any) -> str:
        """Appends an operator with one result and returns the result's name."""
        op = self.block.make_op(type, inputs, attributes, [self.name], self.name)
        self.append(op)
        return op.outputs[0]

    def append(self, op: Op) -> None:
        """Appends an operator to the block."""
        self.block.ops.append(op)

    def constant(self, values: ArrayLike, dtype: str = "float32") -> str:
        """Adds a constant."""
        return self.block.add_constant(np.asarray(values, dtype), f"{self.name}.constant")

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor."""
        return self.block.vars[name].shape

    def zeros(self, shape: Sequence[int]) -> str:
        """Adds a constant of zeros."""
        return self.constant(np.zeros(shape))

    def reshape(self, x: str, *shape: int) -> str:
        """`x` in another shape; itself if it has that shape."""
        return x if self.shape(x) == shape else self.add("reshape", x, shape=shape)

    def times(self, x: str, factor: float) -> str:
        """`x` times a number."""
        return x if factor == 1 else self.add("mul", x, self.constant([factor]))

    def plus(self, x: str, number: float) -> str:
        """`x` plus a number."""
        return self.add("add", x, self.constant([number]))

    def sum(self, x: str, *axes: int, keep_dims: bool = True) -> str:
        """The sum of `x` along axes."""
        return self.add("reduce_sum", x, axes=axes, keep_dims=keep_dims) if axes else x

    def total(self, x: str) -> str:
        """The sum of all elements, [1]."""
        return self.sum(self.reshape(x, math.prod(self.shape(x))), 0)

    def sum_to(self, x: str, shape: tuple[int, ...]) -> str:
        """The sum of `x` over the dimensions along which `shape` was broadcast."""
        actual = self.shape(x)
        aligned = (1,) * (len(actual) - len(shape)) + shape
        axes = [i for i, size in enumerate(aligned) if size == 1 and actual[i] != 1]
        return self.reshape(self.sum(x, *axes), *shape)

    def swap_last(self, x: str) -> str:
        """`x` with its last two dimensions exchanged."""
        *outer, row, column = range(len(self.shape(x)))
        return self.add("transpose", x, permutation=(*outer, column, row))

    def along(self, matrix: str, x: str, axis: int, shape: tuple[int, ...]) -> str:
        """The product of a matrix and the vectors of `x` along an axis, in its new shape."""
        axis %= len(shape)
        outer, inner = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
        vectors = self.reshape(x, outer, self.shape(matrix)[1], inner)
        return self.reshape(self.add("mat_mul", matrix, vectors), *shape)
