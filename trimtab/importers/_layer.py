"""The base class of a layer during import: its operands, and how to add operators for it."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, overload

import numpy as np

from trimtab import schema
from trimtab.errors import ImportModelError
from trimtab.importers._graph import Array, ImportGraph, Operand, UnsupportedFormError, Value
from trimtab.program import MAX_ELEMENTS, Quantization
from trimtab.program.sizes import smallest

Results = Operand | tuple[Operand, ...]
"""The result of a handler: the layer's output, or all of its outputs."""

_FIXED = ("reshape", "expand")
"""Operators whose attributes have sizes of results."""

Place = int | str
"""An input of a layer: its index, or the name of its slot."""


class ImportedLayer:
    """A layer, node or operator of a file during its import.

    `inputs` and `outputs` are the file's keys of its operands (None: absent). `where` is its place
    in the file, for errors, and `title` its line in a list of unsupported layers.
    """

    def __init__(
        self,
        graph: ImportGraph,
        type: str,
        name: str,
        inputs: Sequence[Hashable],
        outputs: Sequence[Hashable],
        *,
        where: str,
        title: str,
    ) -> None:
        self._graph = graph
        self.type, self.name = type, name
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)
        self.where, self.title = where, title

    def check_unread(self) -> None:
        """Rejects parameters that the handler did not read, because they may change the result."""

    def value_name(self, key: Hashable) -> str:
        """The name of the value `key` in the program."""
        return str(key)

    def unsupported(self, reason: str) -> UnsupportedFormError:
        """The exception to raise if the engine cannot express this layer."""
        return UnsupportedFormError(reason)

    def invalid(self, reason: str) -> ImportModelError:
        """The exception to raise if the layer violates a rule of its type."""
        return ImportModelError(reason, where=self.where, hint="check its parameters")

    def real(self, name: str, default: float | None = None) -> float:
        """A floating-point parameter."""
        raise NotImplementedError

    # The interface for parsers of plug-ins.

    def parameters(self) -> Mapping[str, Any]:
        """All parameters by name as plain data, see `trimtab.importers._parameters`. The caller
        then has to check for unread ones.
        """
        return {}

    def is_harmless(self, name: str) -> bool:
        """Whether the parameter never changes the result of a layer."""
        return False

    def stored_weights(self, place: Place, shape: Sequence[int], what: str) -> Array:
        """The layer's weights; by default the constant input `place`."""
        return self.parameter(place, what, shape)

    # Operands.

    def has(self, place: Place) -> bool:
        """Whether input `place` is present."""
        assert isinstance(place, int)
        return place < len(self.inputs) and self.inputs[place] is not None

    def key(self, place: Place) -> Hashable:
        """The file's key of input `place`, which must be present."""
        assert isinstance(place, int)
        if not self.has(place):
            raise self.invalid(f"it has {len(self.inputs)} inputs, input {place} is missing")
        return self.inputs[place]

    def operand(self, place: Place = 0) -> Operand:
        """An input in the file's form, constant or computed."""
        value: Operand = self._graph.values[self.key(place)]
        return value

    def x(self, place: Place = 0) -> Value:
        """An input as a tensor of the program."""
        return self._graph.operand(self.operand(place), self.value_name(self.key(place)))

    def count(self) -> int:
        """Number of inputs."""
        return len(self.inputs)

    def operands(self) -> list[Operand]:
        """All inputs in the file's form; at least one is required."""
        return [self.operand(i) for i in range(max(1, self.count()))]

    def xs(self) -> list[Value]:
        """All inputs as tensors of the program; at least one is required."""
        return [self.x(i) for i in range(max(1, self.count()))]

    def image(self, place: Place = 0) -> Value:
        """An input that must have the shape [n, c, h, w]."""
        x = self.x(place)
        if len(x.shape) != 4:
            raise self.unsupported(f"its input has {len(x.shape)} dimensions, not 4")
        return x

    def shape(self, place: Place = 0) -> tuple[int, ...]:
        """The shape of an input."""
        return tuple(self.operand(place).shape)

    def is_known(self, place: Place) -> bool:
        """Whether an input is constant."""
        return is_known(self.operand(place))

    def known(self, place: Place, what: str) -> Array:
        """The value of a constant input; `what` is its role, for errors."""
        value = self.operand(place)
        if not isinstance(value, np.ndarray):
            raise self.unsupported(f"its {what} must be constant")
        return value

    def ints(self, place: Place, what: str) -> tuple[int, ...]:
        """A constant vector of integers."""
        return tuple(int(v) for v in self.known(place, what).reshape(-1))

    def parameter(self, place: Place, what: str, shape: Sequence[int] | None = None) -> Array:
        """Constant float values; `shape` (-1: any size) may differ in dimensions of 1."""
        value = self.known(place, what)
        if value.dtype.kind != "f":
            raise self.unsupported(f"its {what} holds {value.dtype}, not floats: it is quantized")
        if shape is None:
            return value
        if -1 not in shape and value.size == math.prod(shape):
            return value.reshape(shape)
        self.check_shape(what, value.shape, shape)
        return value

    def check_shape(self, what: str, shape: Sequence[int], expected: Sequence[int]) -> None:
        """Rejects a shape other than `expected`, in which -1 stands for any size."""
        if len(shape) != len(expected) or any(
            n not in (-1, size) for size, n in zip(shape, expected, strict=True)
        ):
            raise self.invalid(f"its {what} has shape {list(shape)}, expected {list(expected)}")

    def axis(self, axis: int, rank: int | None = None) -> int:
        """The non-negative form of `axis`, by default for the rank of the first operand."""
        rank = len(self.shape()) if rank is None else rank
        if not -rank <= axis < rank:
            raise self.invalid(f"axis {axis} is outside {rank} dimensions")
        return axis % rank

    def check_elements(self, shape: Sequence[int], itemsize: int = 4) -> None:
        """Spends the import's budget on an array that is about to be made; rejects one that would
        be too large. `itemsize`: the bytes of an element, 0 for one that is only planned.
        """
        count = math.prod(shape)
        if min(shape, default=1) < 0 or count > MAX_ELEMENTS:
            raise self.invalid(f"an array of shape {list(shape)} is too large")
        self._graph.budget.take_bytes(count * itemsize, self.where)

    def can_expand(self, layers: int) -> bool:
        """Whether the import may still expand to so many layers."""
        return self._graph.budget.has_layers(layers)

    # The operators of the layer.

    def value(self, operand: Operand) -> Value:
        """`operand` as a tensor of the program."""
        if isinstance(operand, np.ndarray) and not self._graph.is_constant(operand):
            self._graph.budget.take_bytes(operand.nbytes, self.where)
        return self._graph.operand(operand, f"{self.name}.operand")

    def constant(
        self, value: Array | float, role: str, quantization: Quantization | None = None
    ) -> Value:
        """Adds a constant: float32 unless it holds integers."""
        if isinstance(value, np.ndarray):
            self._graph.budget.take_bytes(value.nbytes, self.where)
        return self._graph.add_constant(value, f"{self.name}.{role}", quantization=quantization)

    def add(self, op: str, *inputs: Value, **attributes: Any) -> Value:
        """Adds an operator with one output."""
        return self.add_many(op, *inputs, outputs=1, **attributes)[0]

    def add_many(
        self, op: str, *inputs: Value, outputs: int, **attributes: Any
    ) -> tuple[Value, ...]:
        """Adds an operator with several outputs."""
        if op in _FIXED and len(inputs) == 1 and inputs[0].counted:
            raise self.unsupported("it needs the size of its operand, which depends on data")
        allowed = schema.operator(op).dtypes
        if inputs and inputs[0].dtype not in allowed:
            raise self.unsupported(f"its operands are {inputs[0].dtype}, not {', '.join(allowed)}")
        return self._graph.add_op(op, inputs, attributes, outputs, self.name)

    def is_fixed(self, x: Value, axis: int) -> bool:
        """Whether a dimension has its size in every run, and not only at most."""
        if not x.counted:
            return True
        return smallest(self._graph.program)[x.name][axis] == x.shape[axis]

    @overload
    def reshape(self, x: Value, shape: Sequence[int]) -> Value: ...
    @overload
    def reshape(self, x: Operand, shape: Sequence[int]) -> Operand: ...
    def reshape(self, x: Operand, shape: Sequence[int]) -> Operand:
        """Reshapes `x`; a single -1 takes the remaining elements."""
        sizes = list(shape)
        if sizes.count(-1) == 1:
            product = math.prod(n for n in sizes if n != -1)
            sizes[sizes.index(-1)] = math.prod(x.shape) // product if product > 0 else 0
        if min(sizes, default=1) < 0 or math.prod(sizes) != math.prod(x.shape):
            raise self.invalid(f"{list(x.shape)} cannot be reshaped to {list(shape)}")
        if isinstance(x, np.ndarray):
            return x.reshape(sizes)
        return x if tuple(sizes) == x.shape else self.add("reshape", x, shape=tuple(sizes))

    @overload
    def transpose(self, x: Value, permutation: Sequence[int]) -> Value: ...
    @overload
    def transpose(self, x: Operand, permutation: Sequence[int]) -> Operand: ...
    def transpose(self, x: Operand, permutation: Sequence[int]) -> Operand:
        """y.shape[i] = x.shape[permutation[i]]."""
        order = tuple(permutation)
        if sorted(order) != list(range(len(x.shape))):
            raise self.invalid(f"{list(order)} is not a permutation of {len(x.shape)} dimensions")
        if isinstance(x, np.ndarray):
            return x.transpose(order)
        return x if list(order) == sorted(order) else self.add("transpose", x, permutation=order)

    def scaled(self, x: Value, factor: float) -> Value:
        """factor * x."""
        return x if factor == 1.0 else self.add("mul", x, self.constant(factor, "factor"))

    def shifted(self, x: Value, offset: float) -> Value:
        """x + offset."""
        return x if offset == 0.0 else self.add("add", x, self.constant(offset, "offset"))

    def scale_and_shift(self, x: Value, scale: float, shift: float) -> Value:
        """scale * x + shift."""
        return self.shifted(self.scaled(x, scale), shift)

    def combined(self, op: str, operands: Sequence[Value]) -> Value:
        """Folds any number of operands with a binary operator."""
        y = operands[0]
        for x in operands[1:]:
            y = self.add(op, y, x)
        return y


def is_known(operand: Operand) -> bool:
    """Whether the operand is constant at import time."""
    return isinstance(operand, np.ndarray)
