"""What handlers of all formats see of a layer: its operands, and how to add operators for it."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, overload

import numpy as np

from trimtab import schema
from trimtab.errors import ImportModelError
from trimtab.importers._layers import Array, LayerImport, Operand, UnsupportedFormError, Value
from trimtab.program import MAX_ELEMENTS, Quantization

Results = Operand | tuple[Operand, ...]
"""What a handler makes of a layer: its output, or all of them."""

Place = int | str
"""An input of a layer: its number, or what the file calls its place."""


class HandledLayer:
    """A layer, node or operator of a file while it is imported.

    `inputs` and `outputs` are what the file calls its operands (None: left out), `where` is its
    place in the file and `title` what a list of unsupported layers calls it.
    """

    def __init__(
        self,
        work: LayerImport,
        type: str,
        name: str,
        inputs: Sequence[Hashable],
        outputs: Sequence[Hashable],
        *,
        where: str,
        title: str,
    ) -> None:
        self._work = work
        self.type, self.name = type, name
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)
        self.where, self.title = where, title

    def check_unread(self) -> None:
        """Refuses parameters that the handler did not ask for: they may change the result."""

    def value_name(self, key: Hashable) -> str:
        """What the program calls the value that the file calls `key`."""
        return str(key)

    def unsupported(self, reason: str) -> UnsupportedFormError:
        """The exception to raise when the engine cannot express this layer."""
        return UnsupportedFormError(reason)

    def invalid(self, reason: str) -> ImportModelError:
        """The exception to raise when the layer breaks a rule of its type."""
        return ImportModelError(reason, where=self.where, hint="check its parameters")

    def real(self, name: Any, default: float | None = None) -> float:
        """A parameter that is a real number."""
        raise NotImplementedError

    # What parsers of plug-ins read, of any format.

    def parameters(self) -> Mapping[str, Any]:
        """All parameters by name as plain data: see `trimtab.importers._parameters`. Who asks for
        them answers for those that it does not read.
        """
        return {}

    def is_harmless(self, name: str) -> bool:
        """Whether the parameter of that name never changes what a layer computes."""
        return False

    def stored_weights(self, place: Place, shape: Sequence[int], what: str) -> Array:
        """Weights of the layer: those of input `place`, where the format has none of its own."""
        return self.parameter(place, what, shape)

    # Operands.

    def has(self, place: Place) -> bool:
        """Whether input `place` is there."""
        assert isinstance(place, int)
        return place < len(self.inputs) and self.inputs[place] is not None

    def key(self, place: Place) -> Hashable:
        """What the file calls input `place`, which must be there."""
        assert isinstance(place, int)
        if not self.has(place):
            raise self.invalid(f"it has {len(self.inputs)} inputs, number {place} is missing")
        return self.inputs[place]

    def operand(self, place: Place = 0) -> Operand:
        """An input as the file has it, known or computed."""
        found: Operand = self._work.values[self.key(place)]
        return found

    def x(self, place: Place = 0) -> Value:
        """An input as an operand of the engine."""
        return self._work.operand(self.operand(place), self.value_name(self.key(place)))

    def count(self) -> int:
        """Number of inputs."""
        return len(self.inputs)

    def operands(self) -> list[Operand]:
        """All inputs as the file has them; there must be one at least."""
        return [self.operand(i) for i in range(max(1, self.count()))]

    def xs(self) -> list[Value]:
        """All inputs as operands of the engine; there must be one at least."""
        return [self.x(i) for i in range(max(1, self.count()))]

    def image(self, place: Place = 0) -> Value:
        """An input that must be [n, c, h, w]."""
        x = self.x(place)
        if len(x.shape) != 4:
            raise self.unsupported(f"its input has {len(x.shape)} dimensions, not 4")
        return x

    def shape(self, place: Place = 0) -> tuple[int, ...]:
        """The shape of an input."""
        return tuple(self.operand(place).shape)

    def is_known(self, place: Place) -> bool:
        """Whether the value of an input is known now."""
        return is_known(self.operand(place))

    def known(self, place: Place, what: str) -> Array:
        """The value of an input, which must be known now; `what` is its role."""
        found = self.operand(place)
        if not isinstance(found, np.ndarray):
            raise self.unsupported(f"its {what} must be constant")
        return found

    def ints(self, place: Place, what: str) -> tuple[int, ...]:
        """A known vector of integers."""
        return tuple(int(v) for v in self.known(place, what).reshape(-1))

    def parameter(self, place: Place, what: str, shape: Sequence[int] | None = None) -> Array:
        """Known real numbers, of `shape` (-1: any size) up to dimensions of 1."""
        value = self.known(place, what)
        if value.dtype.kind != "f":
            raise self.unsupported(f"its {what} holds {value.dtype}, not floats: it is quantized")
        if shape is None:
            return value
        if -1 not in shape and value.size == math.prod(shape):
            return value.reshape(shape)
        self.check_shape(what, value.shape, shape)
        return value

    def check_shape(self, what: str, shape: Sequence[int], wanted: Sequence[int]) -> None:
        """Refuses another shape than the wanted one, in which -1 is any size."""
        if len(shape) != len(wanted) or any(
            n not in (-1, size) for size, n in zip(shape, wanted, strict=True)
        ):
            raise self.invalid(f"its {what} is {list(shape)}, expected {list(wanted)}")

    def axis(self, axis: int, rank: int | None = None) -> int:
        """`axis` counted from the front, of the first operand unless a rank is given."""
        rank = len(self.shape()) if rank is None else rank
        if not -rank <= axis < rank:
            raise self.invalid(f"axis {axis} is outside {rank} dimensions")
        return axis % rank

    def check_elements(self, shape: Sequence[int]) -> None:
        """Refuses a constant that would be too large."""
        if min(shape, default=1) < 0 or math.prod(shape) > MAX_ELEMENTS:
            raise self.invalid(f"a constant of shape {list(shape)} is too large")

    # What becomes of it.

    def value(self, operand: Operand) -> Value:
        """`operand` as an operand of the engine."""
        return self._work.operand(operand, f"{self.name}.operand")

    def constant(
        self, value: Array | float, role: str, quantization: Quantization | None = None
    ) -> Value:
        """A new constant operand, float32 unless it holds integers."""
        return self._work.add_constant(value, f"{self.name}.{role}", quantization=quantization)

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

    @overload
    def reshape(self, x: Value, shape: Sequence[int]) -> Value: ...
    @overload
    def reshape(self, x: Operand, shape: Sequence[int]) -> Operand: ...
    def reshape(self, x: Operand, shape: Sequence[int]) -> Operand:
        """`x` in another shape of as many elements; one -1 takes what is left."""
        sizes = list(shape)
        if sizes.count(-1) == 1:
            known = math.prod(n for n in sizes if n != -1)
            sizes[sizes.index(-1)] = math.prod(x.shape) // known if known > 0 else 0
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
            raise self.invalid(f"{list(order)} is no permutation of {len(x.shape)} dimensions")
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
        """Any number of operands, taken two by two."""
        y = operands[0]
        for x in operands[1:]:
            y = self.add(op, y, x)
        return y


def is_known(operand: Operand) -> bool:
    """Whether the value is known while importing."""
    return isinstance(operand, np.ndarray)
