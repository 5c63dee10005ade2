"""A TFLite operator during its import: options and operands."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from flatbuffers import flexbuffers

from trimtab.importers._graph import Array, ImportGraph, Operand, Value
from trimtab.importers._handlers import Handlers
from trimtab.importers._layer import ImportedLayer, Place, is_known
from trimtab.importers.tflite_ops.forms import Blocks, Forms
from trimtab.importers.tflite_ops.model import (
    TfliteOperator,
    TfliteTensor,
    all_options,
    options,
)
from trimtab.importers.tflite_ops.variables import Variable, Variables
from trimtab.importers.vocabulary.functions import Function
from trimtab.importers.vocabulary.movement import TO_CHANNELS_FIRST
from trimtab.importers.vocabulary.quantization import QuantizedConstant
from trimtab.program import Quantization
from trimtab.program.block import dtype_of

# The axes of [n, h, w, c] in [n, c, h, w].
_NCHW_AXES = (0, 2, 3, 1)

# ActivationFunctionType.
_FUSED = {
    1: Function("relu"),
    2: Function("clip", -1.0, 1.0),
    3: Function("clip", 0.0, 6.0),
    4: Function("tanh"),
}


@dataclass
class TfliteContext:
    """The parts that operators share: `tensors` by index, to which each use of a subgraph adds its
    own, their forms, and the variables of the model. `inline` adds the operators of a subgraph,
    whose inputs are tensors of the caller, and returns the indices of its outputs.
    """

    tensors: list[TfliteTensor]
    forms: Forms
    variables: Variables
    inline: Callable[[TfliteNode, int, Sequence[Hashable]], tuple[int, ...]]


class TfliteNode(ImportedLayer):
    """One operator of a model. `place`: where its subgraph is used."""

    def __init__(
        self,
        graph: ImportGraph,
        op: TfliteOperator,
        index: int,
        context: TfliteContext,
        place: str = "",
    ) -> None:
        self.context, self._forms, self._op = context, context.forms, op
        self._index, self._place = index, place
        outputs = [i if i >= 0 else None for i in op.outputs]
        named = [i for i in outputs if i is not None]
        title = f"operator {index} ({op.type}){place}"
        super().__init__(
            graph,
            op.type,
            self.value_name(named[0]) if named else op.type.lower(),
            [i if i >= 0 else None for i in op.inputs],
            outputs,
            where=f"{graph.path}: {title}",
            title=title,
        )

    def value_name(self, key: Any) -> str:
        """The name of a tensor; of several names of fused operators, the first."""
        return str(self.context.tensors[key].name.split(";")[0])

    def options(self, name: str) -> Any:
        """The operator's options; every field has a default."""
        table = options(self._op, name)
        if table is None:
            raise self.invalid(f"it lacks its options ({name})")
        return table

    def has_options(self, name: str) -> bool:
        """Whether it has these options."""
        return options(self._op, name) is not None

    def custom_options(self) -> bytes:
        """The encoded options of a custom operator."""
        return self._op.custom

    def parameters(self) -> Mapping[str, Any]:
        """All options by name: the flexbuffer map of a custom operator, or the fields of TFLite's
        schema, such as stride_w.
        """
        if self._op.table is not None:
            return all_options(self._op)
        custom = flexbuffers.Loads(self._op.custom) if self._op.custom else {}
        if not isinstance(custom, dict):
            raise self.unsupported("its options are not a map")
        return {str(name): value for name, value in custom.items()}

    def stored_weights(self, place: Place, shape: Sequence[int], what: str) -> Array:
        """A constant input as float32, dequantized if necessary."""
        value = np.asarray(self.numbers(place, what), np.float32)
        self.check_shape(what, value.shape, shape)
        return value

    def reading(self, keys: Sequence[Hashable]) -> TfliteNode:
        """The same operator with these tensors as its inputs."""
        inputs = tuple(key if isinstance(key, int) else -1 for key in keys)
        op = replace(self._op, inputs=inputs)
        return TfliteNode(self._graph, op, self._index, self.context, self._place)

    @property
    def op(self) -> TfliteOperator:
        """The operator in the file."""
        return self._op

    def state(self, first: Array, name: str) -> Value:
        """Adds a state that begins with `first`."""
        number = sum(op.schema.state for op in self._graph.program.ops)
        return self.add("state", self.constant(first, f"{name}.first"), index=number)

    def inline(self, graph: int, keys: Sequence[Hashable]) -> tuple[int, ...]:
        """Adds the operators of a subgraph and returns the tensors of its outputs."""
        return self.context.inline(self, graph, keys)

    def form(self, key: Hashable) -> Any:
        """A tensor in its present form."""
        return self._graph.values[key]

    def variable(self) -> Variable:
        """The variable that the first input is the handle of."""
        value = self._graph.values[self.key(0)]
        if not isinstance(value, Variable):
            raise self.unsupported("its input is not the handle of a variable")
        return value

    # Operands.

    def operand(self, place: Place = 0) -> Operand:
        """An input in the file's form, constant or computed."""
        return self._forms.plain(self.key(place), self)

    def image(self, place: Place = 0) -> Value:
        """An input [n, h, w, c] as [n, c, h, w]."""
        stored = self.stored(place)
        if stored is not None and stored.data.ndim == 4:
            return stored.transposed(TO_CHANNELS_FIRST).dequantized(self, "operand")
        return self._forms.image(self.key(place), self)

    def x(self, place: Place = 0) -> Value:
        """An input as a tensor of the program, dequantized if necessary."""
        stored = self.stored(place)
        return stored.dequantized(self, "operand") if stored is not None else super().x(place)

    def blocks(self) -> Blocks | None:
        """The first input as blocks of an image, if it has that form."""
        value = self._graph.values[self.key(0)]
        return value if isinstance(value, Blocks) else None

    def is_image(self, place: Place = 0) -> bool:
        """Whether an input already has the form of an image."""
        return self._forms.is_image(self.key(place))

    def shape(self, place: Place = 0) -> tuple[int, ...]:
        """The shape of an input in the file's form."""
        return tuple(self._graph.values[self.key(place)].shape)

    def is_known(self, place: Place) -> bool:
        """Whether an input is constant."""
        return isinstance(self._graph.values[self.key(place)], np.ndarray)

    def either(self, i: int = 0) -> tuple[Value, bool]:
        """Input `i` in its current form, and whether that is an image."""
        return (self.image(i), True) if self.is_image(i) else (self.x(i), False)

    def place(self, axis: int, rank: int, image: bool) -> int:
        """An axis of the file in the current form."""
        axis = self.axis(axis, rank)
        return _NCHW_AXES[axis] if image else axis

    def operands(self) -> list[Operand]:
        """All inputs: arrays if all are constant, otherwise tensors of the program."""
        operands = super().operands()
        return operands if all(map(is_known, operands)) else [*self.xs()]

    # Quantized operands.

    def quantization(self, place: Place) -> Quantization | None:
        """The quantization of an input; None if it is not quantized."""
        return self._quantization(self.key(place))

    def _quantization(self, key: Any) -> Quantization | None:
        tensor: TfliteTensor = self.context.tensors[key]
        return tensor.quantization()

    def stored(self, place: Place) -> QuantizedConstant | None:
        """A constant input in its stored form, if it is quantized."""
        key = self.key(place)
        value, quantization = self._graph.values[key], self._quantization(key)
        if quantization is None or not isinstance(value, np.ndarray) or value.dtype.kind == "f":
            return None  # int16 is dequantized
        stored = QuantizedConstant(value, quantization).with_live_scales()
        stored.quantization.check(self.value_name(key), value.shape, dtype_of(value))
        return stored

    def numbers(self, place: Place, what: str) -> Array:
        """The values of a constant input, dequantized if necessary."""
        stored = self.stored(place)
        return stored.values() if stored is not None else self.known(place, what)

    def weights(
        self, place: Place, shape: Sequence[int], order: Sequence[int] | None = None
    ) -> Operand:
        """Constant weights of `shape` (-1: any size), quantized or not, transposed by `order`."""
        order = range(len(shape)) if order is None else order
        stored = self.stored(place)
        if stored is None:
            weight = self.parameter(place, "weights", shape)
            return np.ascontiguousarray(weight.transpose(order))
        self.check_shape("weights", stored.data.shape, shape)
        return stored.transposed(order).dequantized(self, "weight")

    def bias(self, place: int, outputs: int, weights: Place = 1, x: Place = 0) -> Operand | None:
        """A constant bias; None if it is absent. The scale of an int32 bias is the product of the
        scales of weights and operand, as in TFLite, whatever scale the file declares.
        """
        if not self.has(place):
            return None
        value, of_weights, of_x = self.known(place, "bias"), *map(self.quantization, (weights, x))
        if value.dtype.kind == "f" or of_weights is None or of_x is None:
            return self.parameter(place, "bias", (outputs,))
        if value.dtype not in (np.int32, np.int64):
            raise self.unsupported(f"its bias is {value.dtype}, not int32 or int64")
        self.check_shape("bias", value.shape, (outputs,))
        scales = np.float32(of_x.scale[0]) * np.array(of_weights.scale, np.float32)
        if value.dtype == np.int64:  # beside int16
            return (value * scales.astype(np.float64)).astype(np.float32)
        axis = None if scales.size == 1 else 0
        return QuantizedConstant(value, Quantization.of(scales, 0, axis)).dequantized(self, "bias")

    def output_type(self) -> int:
        """TensorType of the first output."""
        return self.context.tensors[self._op.outputs[0]].type

    def activated(self, y: Value, function: int) -> Value:
        """Applies a fused activation."""
        if function == 0:
            return y
        if function not in _FUSED:
            raise self.unsupported(f"its activation is number {function}")
        return _FUSED[function](self, y)


HANDLERS = Handlers[TfliteNode](__name__)
handles = HANDLERS.handles
