"""A PNNX operator during its import: arguments, operands and weights.

Operators have PyTorch's names, arguments and defaults. An operand is a tensor, or a constant: a
number, a word, or a list of these.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from trimtab.importers._graph import Array, ImportGraph, Value
from trimtab.importers._handlers import Handlers
from trimtab.importers._layer import ImportedLayer, Place
from trimtab.importers.pnnx_ops.graph import OperatorText, Static
from trimtab.importers.pnnx_ops.weights import PnnxWeights
from trimtab.program import Var

Operand = Value | Array | Static | list[Any]
Results = Operand | tuple[Operand, ...]

# Arguments that follow from the weights, or that are for training, memory or gradients.
HARMLESS = frozenset(
    (
        "in_channels",
        "out_channels",
        "in_features",
        "out_features",
        "num_features",
        "num_channels",
        "inplace",
        "training",
        "track_running_stats",
        "momentum",
        "recompute_scale_factor",
        "dtype",
        "memory_format",
        "copy",
        "out",
        "non_blocking",
        "requires_grad",
        "device",
        "layout",
        "pin_memory",
        "normalized_shape",
        "num_parameters",
        "use_input_stats",
        "p",
        "batch_first",
        "affine",
        "elementwise_affine",
        "bias",
        "_stacklevel",
        "upscale_factor",
        "lower",
        "upper",
    )
)


class PnnxOperator(ImportedLayer):
    """One operator; its operands have an index in the file, and possibly a key."""

    def __init__(self, graph: ImportGraph, text: OperatorText, weights: PnnxWeights) -> None:
        title = f"'{text.name}' ({text.type}), line {text.line}"
        names = text.type, text.name, text.inputs, text.outputs
        super().__init__(graph, *names, where=text.where, title=title)
        self._weights = weights
        self._text = text
        self._read: set[str] = set()

    @property
    def positional(self) -> list[Operand]:
        """The operands in the order of the file."""
        return [self._graph.values[name] for name in self.inputs]

    @property
    def _keyed(self) -> dict[str, Operand]:
        keys = self._text.keys.items()
        return {key: self._graph.values[name] for key, name in keys if name in self.inputs}

    def check_unread(self) -> None:
        """Rejects arguments that the handler did not read, because they may change the result."""
        for name, value in self._text.params.items():
            if name not in self._read and not self.is_harmless(name):
                raise self.unsupported(f"its argument {name}={value} is not known")

    def parameters(self) -> Mapping[str, Any]:
        """All arguments except None, including those that are constant operands."""
        self._read.update(self._text.params)
        arguments = self._text.params | self._keyed
        return {
            name: value
            for name, value in arguments.items()
            if value is not None and not isinstance(value, Var | np.ndarray)
        }

    def is_harmless(self, name: str) -> bool:
        """Whether an argument follows from the weights, is for training, or is off."""
        return name in HARMLESS or self._text.params.get(name) in (None, False)

    def stored_weights(self, place: Place, shape: Sequence[int], what: str) -> Array:
        """The attribute with that name, or the constant operand with that key or index."""
        if isinstance(place, str) and (weight := self.weight(place, shape)) is not None:
            return weight
        value = self.known(place, what)
        self.check_shape(what, value.shape, shape)
        return value

    # Arguments, from the line or from a constant operand.

    def has(self, place: Place) -> bool:
        """Whether an argument is present and not None; or whether an operand is, by its index."""
        return self.static(place) is not None if isinstance(place, str) else super().has(place)

    def static(self, name: str, default: Static = None) -> Static:
        """The value of an argument, which may be None."""
        self._read.add(name)
        if name in self._keyed:
            value = self._keyed[name]
            if isinstance(value, Var | np.ndarray):
                raise self.unsupported(f"its argument {name} is computed")
            return value
        return self._text.params.get(name, default)

    def integer(self, name: str, default: int | None = None) -> int:
        """An integer."""
        value = self._number(name, default)
        if value != int(value):
            raise self.invalid(f"its argument {name} is {value}, not an integer")
        return int(value)

    def real(self, name: str, default: float | None = None) -> float:
        """A floating-point number."""
        return float(self._number(name, default))

    def boolean(self, name: str, default: bool) -> bool:
        """True or false."""
        return bool(self._number(name, default))

    def text(self, name: str, default: str) -> str:
        """A word."""
        value = self.static(name)
        return default if value is None else str(value)

    def integers(self, name: str, count: int = 0, default: int | None = None) -> tuple[int, ...]:
        """A list of integers; a single number is repeated `count` times."""
        return tuple(int(value) for value in self.reals(name, count, default))

    def reals(self, name: str, count: int = 0, default: float | None = None) -> tuple[float, ...]:
        """A list of numbers; a single number is repeated `count` times."""
        value = self.static(name)
        if value is None or value == []:
            if default is None:
                raise self.invalid(f"it lacks the argument {name}")
            value = [default]
        values = value if isinstance(value, list) else [value]
        if count and len(values) == 1:
            values = values * count
        numbers = [v for v in values if isinstance(v, int | float) and math.isfinite(v)]
        if len(numbers) != len(values) or (count and len(values) != count):
            raise self.invalid(f"its argument {name} is {value}")
        return tuple(numbers)

    def _number(self, name: str, default: float | None) -> float:
        value = self.static(name)
        value = default if value is None else value
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if not isinstance(value, int | float):
            raise self.invalid(f"its argument {name} is {value}, not a number")
        return value

    # Operands and weights.

    def x(self, place: Place = 0, *keys: str) -> Value:
        """The tensor with one of these keys, otherwise the one at `place`."""
        for key in keys:
            if key in self._keyed:
                return self._tensor(self._keyed[key])
        return self._tensor(self.operand(place))

    def key(self, place: Place) -> Hashable:
        """The name of the operand with that key or index."""
        if not isinstance(place, str):
            return super().key(place)
        if place not in self._text.keys:
            raise self.invalid(f"it has no operand or weights '{place}'")
        return self._text.keys[place]

    def known(self, place: Place, what: str) -> Array:
        """The value of a constant operand."""
        tensor = self.x(place)
        if tensor.data is None:
            raise self.unsupported(f"its {what} must be constant")
        return tensor.data

    def optional(self, i: int, *keys: str) -> Value | None:
        """The tensor with one of these keys, otherwise operand `i` if operands have no keys."""
        for key in keys:
            if key in self._keyed:
                return self._tensor(self._keyed[key])
        operands = [] if self._keyed else self.positional[i : i + 1]
        return self._tensor(operands[0]) if operands and operands[0] is not None else None

    def tensors(self) -> list[Value]:
        """All operands; a list that is the only operand stands for its elements."""
        operands: list[Any] = self.positional
        if len(operands) == 1 and isinstance(operands[0], list):
            operands = operands[0]
        if not operands:
            raise self.invalid("it has no operands")
        return [self._tensor(operand) for operand in operands]

    def _tensor(self, operand: Operand) -> Value:
        if not isinstance(operand, Var):
            raise self.unsupported("its operand is not a tensor")
        return operand

    def axes(self, name: str, rank: int) -> tuple[int, ...]:
        """Non-negative axes; all axes if the argument is absent."""
        if self.static(name) in (None, []):
            return tuple(range(rank))
        return tuple(self.axis(axis, rank) for axis in self.integers(name))

    def weight(self, name: str, shape: Sequence[int] | None = None) -> Array | None:
        """A weight attribute, which must have this shape; None if it is absent."""
        if name not in self._text.attributes:
            return None
        array = self._weights.read(self._text, name)
        if shape is not None and array.shape != tuple(shape):
            raise self.invalid(f"its {name} has shape {list(array.shape)}, expected {list(shape)}")
        return array

    def constant_operand(self, name: str, i: int) -> Array | None:
        """Weights: an attribute of a module, or a constant operand of a function."""
        if name in self._text.attributes:
            return self.weight(name)
        operand = None if self.type.startswith("nn.") else self.optional(i, name)
        if operand is None:
            return None
        if operand.data is None:
            raise self.unsupported(f"its {name} must be constant")
        return operand.data

    def swap(self, x: Value, a: int, b: int) -> Value:
        """`x` with two axes swapped."""
        order = list(range(len(x.shape)))
        a, b = self.axis(a, len(order)), self.axis(b, len(order))
        order[a], order[b] = order[b], order[a]
        return self.transpose(x, order)


HANDLERS = Handlers[PnnxOperator](__name__)
handles = HANDLERS.handles
