"""What a handler sees of a TFLite operator: options, operands, how to add operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from flatbuffers import flexbuffers

from trimtab.importers._handled_layer import HandledLayer, Place, is_known
from trimtab.importers._handlers import Handlers
from trimtab.importers._layers import Array, Operand, Value
from trimtab.importers.tflite_ops.forms import Blocks
from trimtab.importers.tflite_ops.model import Operator, Tensor, all_options, options
from trimtab.importers.vocabulary.functions import Function
from trimtab.importers.vocabulary.movement import TO_CHANNELS_FIRST
from trimtab.importers.vocabulary.quantization import Stored, real
from trimtab.program import Quantization
from trimtab.program.program import dtype_of

if TYPE_CHECKING:
    from trimtab.importers.tflite_ops.network import TensorImport

# Where the dimensions of [n, h, w, c] are in an image of the engine.
_PLACES = (0, 2, 3, 1)

# ActivationFunctionType.
_FUSED = {
    1: Function("relu"),
    2: Function("clip", -1.0, 1.0),
    3: Function("clip", 0.0, 6.0),
    4: Function("tanh"),
}


class Node(HandledLayer):
    """One operator while it is imported."""

    def __init__(self, work: TensorImport, op: Operator, index: int) -> None:
        self._model, self._forms, self._op = work.model, work.forms, op
        outputs = [i if i >= 0 else None for i in op.outputs]
        named = [i for i in outputs if i is not None]
        title = f"operator {index} ({op.type})"
        super().__init__(
            work,
            op.type,
            self.value_name(named[0]) if named else op.type.lower(),
            [i if i >= 0 else None for i in op.inputs],
            outputs,
            where=f"{work.path}: {title}",
            title=title,
        )

    def value_name(self, key: Any) -> str:
        """A tensor's name, without those of the operators that became one with what made it."""
        return str(self._model.tensors[key].name.split(";")[0])

    def options(self, name: str) -> Any:
        """The operator's options, whose fields all have defaults."""
        found = options(self._op, name)
        if found is None:
            raise self.invalid(f"it lacks its options ({name})")
        return found

    def has_options(self, name: str) -> bool:
        """Whether it has these options."""
        return options(self._op, name) is not None

    def parameters(self) -> Mapping[str, Any]:
        """Those of a custom operator, which are a flexbuffer with a map in it; those of another are
        called as in TFLite's schema: stride_w.
        """
        if self._op.table is not None:
            return all_options(self._op)
        found = flexbuffers.Loads(self._op.custom) if self._op.custom else {}
        if not isinstance(found, dict):
            raise self.unsupported("its options are no map")
        return {str(name): value for name, value in found.items()}

    def stored_weights(self, place: Place, shape: Sequence[int], what: str) -> Array:
        """The real numbers of a constant input."""
        value = np.asarray(self.numbers(place, what), np.float32)
        self.check_shape(what, value.shape, shape)
        return value

    # Operands.

    def operand(self, place: Place = 0) -> Operand:
        """An input as the file has it, known or computed."""
        return self._forms.plain(self.key(place), self)

    def image(self, place: Place = 0) -> Value:
        """An input that must be [n, h, w, c], as [n, c, h, w]."""
        stored = self.stored(place)
        if stored is not None and stored.data.ndim == 4:
            return real(self, stored.transposed(TO_CHANNELS_FIRST), "operand")
        return self._forms.image(self.key(place), self)

    def x(self, place: Place = 0) -> Value:
        """An input as an operand of the engine, of real numbers where it is quantized."""
        stored = self.stored(place)
        return real(self, stored, "operand") if stored is not None else super().x(place)

    def blocks(self) -> Blocks | None:
        """The first input as blocks of an image, if it is that."""
        found = self._work.values[self.key(0)]
        return found if isinstance(found, Blocks) else None

    def is_image(self, place: Place = 0) -> bool:
        """Whether an input is there as an image already."""
        return self._forms.is_image(self.key(place))

    def shape(self, place: Place = 0) -> tuple[int, ...]:
        """The shape of an input as the file has it."""
        return tuple(self._work.values[self.key(place)].shape)

    def is_known(self, place: Place) -> bool:
        """Whether the value of an input is known now."""
        return isinstance(self._work.values[self.key(place)], np.ndarray)

    def either(self, i: int = 0) -> tuple[Value, bool]:
        """Input `i` in the form that is there, and whether that is an image."""
        return (self.image(i), True) if self.is_image(i) else (self.x(i), False)

    def place(self, axis: int, rank: int, image: bool) -> int:
        """Where a dimension of the file is in the given form."""
        axis = self.axis(axis, rank)
        return _PLACES[axis] if image else axis

    def operands(self) -> list[Operand]:
        """All inputs: as the file has them if all are known, else as operands of the engine."""
        found = super().operands()
        return found if all(map(is_known, found)) else [*self.xs()]

    # Quantized operands.

    def quantization(self, place: Place) -> Quantization | None:
        """What the integers of an input stand for; None where they stand for themselves."""
        return self._quantization(self.key(place))

    def _quantization(self, key: Any) -> Quantization | None:
        tensor: Tensor = self._model.tensors[key]
        return tensor.quantization()

    def stored(self, place: Place) -> Stored | None:
        """A known input as it is stored, if it is quantized."""
        key = self.key(place)
        found, quantization = self._work.values[key], self._quantization(key)
        if quantization is None or not isinstance(found, np.ndarray):
            return None
        quantization.check(self.value_name(key), found.shape, dtype_of(found))
        return Stored(found, quantization)

    def numbers(self, place: Place, what: str) -> Array:
        """The numbers that a known input stands for."""
        stored = self.stored(place)
        return stored.real() if stored is not None else self.known(place, what)

    def weights(
        self, place: Place, shape: Sequence[int], order: Sequence[int] | None = None
    ) -> Operand:
        """Constant weights of `shape` (-1: any size), quantized or not, turned by `order`."""
        order = range(len(shape)) if order is None else order
        stored = self.stored(place)
        if stored is None:
            weight = self.parameter(place, "weights", shape)
            return np.ascontiguousarray(weight.transpose(order))
        self.check_shape("weights", stored.data.shape, shape)
        return real(self, stored.transposed(order), "weight")

    def bias(self, place: int, outputs: int, weights: Place = 1, x: Place = 0) -> Operand | None:
        """A constant bias, None where it is left out. One of integers is in units of the products
        of weights and operand, as TFLite takes it, whatever scale the file has for it.
        """
        if not self.has(place):
            return None
        value, of_weights, of_x = self.known(place, "bias"), *map(self.quantization, (weights, x))
        if value.dtype.kind == "f" or of_weights is None or of_x is None:
            return self.parameter(place, "bias", (outputs,))
        if value.dtype != np.int32:
            raise self.unsupported(f"its bias is {value.dtype}, not int32")
        self.check_shape("bias", value.shape, (outputs,))
        units = np.float32(of_x.scale[0]) * np.array(of_weights.scale, np.float32)
        axis = None if units.size == 1 else 0
        return real(self, Stored(value, Quantization.of(units, 0, axis)), "bias")

    def output_type(self) -> int:
        """TensorType of the first output."""
        return self._model.tensors[self._op.outputs[0]].type

    def activated(self, y: Value, function: int) -> Value:
        """`y` after a fused activation."""
        if function == 0:
            return y
        if function not in _FUSED:
            raise self.unsupported(f"its activation is number {function}")
        return _FUSED[function](self, y)


HANDLERS = Handlers[Node](__name__)
handles = HANDLERS.handles
